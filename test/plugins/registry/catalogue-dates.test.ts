import assert from 'node:assert/strict'
import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { FetchResult } from 'sallyport'
import { booted } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'
import {
  BASE,
  idsIn,
  internalRoutes,
  type ListBody,
  OFFICIAL,
  one,
  payload,
  registryOf,
  server,
  sourcePlugin,
  sync,
  two,
  wrapped,
} from './registry.js'

const UNKNOWN = '1970-01-01T00:00:00.000Z'

/** What a server that gave this as its list is served with, and under which tags. */
async function served(ask: (path: string) => Promise<{ body: string; etag: unknown }>) {
  return Promise.all(
    ['', '/a.example%2Fone/versions', '/a.example%2Fone/versions/latest'].map((path) => ask(BASE + path)),
  )
}

test('processes that read the same file serve the same bytes and tags, whenever it was written and they began', async (t) => {
  const write = (home: string, title: string, mtime: number): void => {
    const path = join(home, 'servers.json')
    // Versions that are no semantic ones are ordered by their dates.
    writeFileSync(
      path,
      JSON.stringify([{ ...one, title }, two, server('a.example/one', 'b'), server('a.example/one', 'a')]),
    )
    utimesSync(path, mtime, mtime)
  }
  const start = async (title: string, mtime: number) => {
    const home = folder(t, {
      'registry.json': JSON.stringify({
        address: '127.0.0.1:0',
        internalAddress: '127.0.0.1:0',
        auth: { mode: 'anonymous' },
        sources: [{ name: 'own', file: { path: './servers.json', watch: false } }],
        stateDirectory: './state',
      }),
    })
    write(home, title, mtime)
    const { ready, output } = program(t, ['registry', '--config', 'registry.json'], { cwd: home })
    const main = await ready()
    const internal = /metrics on (\S+)\)/.exec(output.stdout)?.[1] ?? ''
    return { home, main, internal }
  }
  const of = ({ main }: { readonly main: string }) =>
    served(async (path) => {
      const answer = await fetch(main + path)
      return { body: await answer.text(), etag: answer.headers.get('etag') }
    })

  const first = await start('before', 1_600_000_000)
  const before = await of(first)
  write(first.home, 'after', 1_700_000_000)
  assert.equal((await fetch(`${first.internal}/sync/own`, { method: 'POST' })).status, 200)
  const second = await start('after', 1_500_000_000)

  assert.deepEqual(await of(first), await of(second))
  assert.notDeepEqual(await of(first), before)
  assert.match((await of(first))[0]?.body ?? '', /"updatedAt":"1970-01-01T00:00:00\.000Z"/)
})

/** A source that gives one result after the other. */
const scripted = (t: TestContext, ...answers: readonly FetchResult[]) => {
  const left = [...answers]
  const source = sourcePlugin('main', async () => left.shift() ?? { kind: 'unchanged' })
  return booted(t, [...registryOf([source], ['main']), internalRoutes])
}

const whole = (documents: unknown, asOf?: string): FetchResult => ({
  kind: 'whole',
  payloads: [payload(documents)],
  ...(asOf !== undefined && { asOf: new Date(asOf) }),
})

const datesIn = ({ servers }: ListBody) =>
  servers.map(({ _meta }) => [_meta[OFFICIAL]?.['publishedAt'], _meta[OFFICIAL]?.['updatedAt']])

test('a date comes from the document, else from its source, else it is the same everywhere', async (t) => {
  const published = '2024-01-01T00:00:00+02:00'
  const documents = [
    wrapped(one, { publishedAt: published }),
    two,
    wrapped(server('a.example/two', '0.9.0'), { updatedAt: published }),
  ]
  const bare = await scripted(t, whole(documents))
  const dated = await scripted(t, whole(documents, '2023-02-03'), whole(documents, '2024-02-03'))
  assert.deepEqual(datesIn((await bare.inject(BASE)).json()), [
    [published, published],
    [UNKNOWN, UNKNOWN],
    [UNKNOWN, published],
  ])
  const of = (date: string) => [
    [published, published],
    [date, date],
    [date, published],
  ]
  assert.deepEqual(datesIn((await dated.inject(BASE)).json()), of('2023-02-03T00:00:00.000Z'))
  // Whoever begins now has no other date than this.
  await dated.inject(sync)
  assert.deepEqual(datesIn((await dated.inject(BASE)).json()), of('2024-02-03T00:00:00.000Z'))
})

test('a version without a date is among the changes since any date', async (t) => {
  const dated = { publishedAt: '2024-01-01T00:00:00Z', updatedAt: '2024-01-01T00:00:00Z' }
  const app = await scripted(
    t,
    whole([
      wrapped(one, dated),
      server('a.example/one', '1.1.0'),
      two,
      wrapped(server('a.example/three', '1.0.0'), { status: 'deleted' }),
      wrapped(server('a.example/old', '1.0.0'), dated),
    ]),
  )
  const found = await app.inject(`${BASE}?updated_since=2025-01-01T00:00:00Z`)
  assert.deepEqual(idsIn(found.json()), [
    'a.example/one@1.1.0',
    'a.example/three@1.0.0',
    'a.example/two@1.0.0',
  ])
})
