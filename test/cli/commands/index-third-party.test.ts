import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as contract from 'sallyport'
import { eventually } from '#kit/captured-log.js'
import { type Kind, kinds } from '../third-party.js'
import {
  ask,
  lookAtEdge,
  lookTwice,
  notes,
  own,
  type Row,
  type Running,
  rows,
  SECRET,
  tunnelled,
  withoutDiscovery,
} from '../third-party-programs.js'

const all = Object.entries<readonly Row[]>(rows)

// A proxy serves no server documents. A registry has no target, no login and no tool calls. Standard input has no port,
// so clients need no discovery there.
const outgoing: readonly Kind[] = [
  'Credential',
  'HeaderSource',
  'SecretStore',
  'StateStore',
  'ClientRegistrar',
  'Policy',
]
// Pages are for people: a proxy and standard input have none.
const documents: readonly Kind[] = [
  'Source',
  'ServerCatalogue',
  'CatalogueStore',
  'PublicationStore',
  'ManagedSource',
  'BrowserSession',
]
const port: readonly Kind[] = ['Listener', 'Health', 'PublicPath', 'PublicAddress', 'Tunnel']
const discovery: readonly Kind[] = ['Challenge', 'IssuerMetadata', 'ResourceMetadata']

test('each capability works in each preset where it has a meaning, from each source, at each position', () => {
  // Deprecated names are names of the same.
  const tokens = Object.values(contract).flatMap((value) => Reflect.get(Object(value), 'token') ?? [])
  const named = new Map(Object.entries(contract))
  assert.deepEqual(
    new Set(kinds.map((kind) => Reflect.get(Object(named.get(kind)), 'token'))),
    new Set(tokens),
  )
  const missing = (preset: string): readonly Kind[] => {
    const there = all.filter(([name]) => name.replace(/ with .*/, '') === preset).flatMap(([, list]) => list)
    return kinds.filter((kind) => !there.some(([each]) => each === kind))
  }
  assert.deepEqual(missing('registry').toSorted(), outgoing.toSorted())
  assert.deepEqual(missing('proxy').toSorted(), documents.toSorted())
  assert.deepEqual(missing('proxy stdio').toSorted(), [...documents, ...port, ...discovery].toSorted())
  const list = all.flatMap(([, each]) => each)
  for (const origin of ['file', 'package', 'path'] as const) {
    for (const place of ['added', 'before', 'after', 'replaces'] as const)
      assert.ok(list.filter((row) => row[1] === origin && row[2] === place).length >= 2, `${origin} ${place}`)
  }
})

test('a registry with plugins of a third party', async (t) => {
  const { issuer, keys, token } = await withoutDiscovery(t)
  const settings = {
    address: '127.0.0.1:1',
    internalAddress: '127.0.0.1:0',
    auth: { oauth: { resourceUrl: 'https://registry.example', providers: [issuer.provider] } },
    sources: [{ name: 'own', file: { path: './absent.json' } }],
    registries: ['default', 'open'].map((name) => ({ name, sources: ['own'] })),
    stateDirectory: null,
  }
  const look = async (running: Running): Promise<void> => {
    const url = await running.started.ready()
    const servers = '/registry/default/v0.1/servers'
    await eventually(async () => (await ask(url + servers, own)).status === 200 || undefined)
    await lookAtEdge(running, servers, token)
    assert.match((await ask(url + servers, own)).text, /of-the-source/, 'Source')
    await eventually(() => /^CatalogueStore wrote own$/m.test(notes(running.home)))
    assert.equal((await ask(url + servers, { 'x-own-session': SECRET })).status, 200, 'BrowserSession')
    assert.equal((await ask(`${url}/registry/open/v0.1/servers`)).status, 200, 'PublicPath')
  }
  await lookTwice(t, 'registry', { words: ['registry'], settings, keys, look })
})

test('a registry with the catalogue of a third party, behind its tunnel', async (t) => {
  const provider = { name: 'corp', issuerUrl: 'https://idp.example.com', audience: 'registry' }
  const settings = {
    address: '127.0.0.1:0',
    internalAddress: '127.0.0.1:0',
    auth: { oauth: { resourceUrl: 'https://registry.example', providers: [provider] } },
  }
  const look = async ({ started }: Running): Promise<void> => {
    const servers = `${await started.ready()}/registry/default/v0.1/servers`
    const closed = await ask(servers)
    assert.deepEqual([closed.status, closed.headers['www-authenticate']], [401, 'Own realm="third party"'])
    assert.match((await ask(servers, own)).text, /of-the-catalogue/, 'ServerCatalogue')
    for (const [host, status] of [
      ['address.example', 200],
      ['tunnel.example', 200],
      ['another.example', 403],
    ] as const)
      assert.equal((await ask(servers, { ...own, host })).status, status, host)
  }
  const further = tunnelled
  await lookTwice(t, 'registry with a catalogue', { words: ['registry'], settings, further, look })
})

test('a registry whose publications a third party stores', async (t) => {
  const settings = {
    address: '127.0.0.1:0',
    internalAddress: '127.0.0.1:0',
    auth: { mode: 'anonymous' },
    sources: [
      { name: 'own', file: { path: './absent.json' } },
      { name: 'people', managed: {} },
    ],
  }
  const look = async ({ started, home }: Running): Promise<void> => {
    const url = await started.ready()
    // 503 until the registry has read its sources.
    const page = `${url}/registry/default/servers/com.example%2Fof-the-source`
    await eventually(async () => (await ask(page)).status === 200)
    assert.match(notes(home), /^PublicationStore opened people$/m)
    assert.match(notes(home), /^ManagedSource asked for com\.example\/of-the-source$/m)
  }
  await lookTwice(t, 'registry with publications', { words: ['registry'], settings, look })
})
