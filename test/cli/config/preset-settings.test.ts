import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { readProxySettings } from '#cli/commands/proxy/run.js'
import { readRegistrySettings } from '#cli/commands/registry/run.js'
import { readRunSettings } from '#cli/commands/run/run.js'
import { folder } from '#kit/folder.js'
import { parsed, placesOf } from '../parsed.js'

type Environment = Readonly<Record<string, string>>

async function registry(
  t: TestContext,
  text: string,
  flags: readonly string[] = [],
  environment: Environment = {},
) {
  const home = folder(t, { 'registry.yaml': text, 'token.txt': 'hunter2\n' })
  const file = join(home, 'registry.yaml')
  const { invocation } = parsed(['registry', '--config', file, ...flags], environment)
  assert.ok(invocation !== undefined)
  const outcome = await readRegistrySettings(invocation)
  const problems = 'problems' in outcome ? outcome.problems : []
  const shown = problems.map((problem) => ({ ...problem, place: problem.place.replace(`${home}/`, '') }))
  return { outcome, problems: shown, home, file }
}

const good = `address: 0.0.0.0:1
auth:
  publicPaths: [/a]
  oauth:
    resourceUrl: https://registry.example
    publicPaths: [/b, /a]
    providers:
      - { name: corp, issuerUrl: https://idp.example/, audience: registry }
sources:
  - { name: catalogue, file: { path: ./servers.json } }
registries:
  - { name: default, sources: [catalogue] }
`

test('a complete file gives all settings', async (t) => {
  const { outcome, home } = await registry(t, good)

  assert.ok('settings' in outcome)
  const { settings, folder: from } = outcome
  assert.equal(from, home)
  assert.equal(settings.auth.mode, 'oauth')
  assert.deepEqual(
    [...settings.auth.publicPaths, ...(settings.auth.oauth?.publicPaths ?? [])],
    ['/a', '/b', '/a'],
  )
  assert.equal(settings.auth.oauth?.realm, 'mcp-registry')
  assert.deepEqual(settings.auth.oauth?.providers, [
    { name: 'corp', type: 'oidc', issuerUrl: 'https://idp.example/', audience: 'registry' },
  ])
  assert.deepEqual(settings.sources, [{ name: 'catalogue', file: { path: './servers.json' } }])
})

test('a flag wins over a variable, a variable over the file, the file over the default', async (t) => {
  const flags = ['--address', '[::1]:3']
  const environment = { SALLYPORT_ADDRESS: '127.0.0.1:2' }
  const addresses: unknown[] = []
  for (const given of [
    registry(t, good, flags, environment),
    registry(t, good, [], environment),
    registry(t, good),
  ]) {
    const { outcome } = await given
    addresses.push('settings' in outcome && outcome.settings.address)
    assert.equal('settings' in outcome && outcome.settings.internalAddress, '127.0.0.1:8081')
  }

  assert.deepEqual(addresses, ['[::1]:3', '127.0.0.1:2', '0.0.0.0:1'])
})

test('a setting is located where it was written, flag, variable or file', async (t) => {
  const environment = { SALLYPORT_AUTH_MODE: 'oauth' }
  const { outcome, file } = await registry(t, good, ['--address', '[::1]:3'], environment)

  assert.ok('settings' in outcome)
  assert.equal(outcome.locate(['address']), '--address')
  assert.equal(outcome.locate(['auth', 'mode']), 'SALLYPORT_AUTH_MODE')
  assert.equal(outcome.locate(['auth', 'oauth', 'realm']), `${file}:5:5 auth.oauth.realm`)
})

test('a value that is refused is one problem, in a flag and in a variable alike', async () => {
  for (const [flags, environment, place] of [
    [['--target-uri', 'x'], {}, '--target-uri'],
    [[], { SALLYPORT_TARGET_URI: 'x' }, 'SALLYPORT_TARGET_URI'],
  ] as const) {
    const { partial } = parsed(['proxy', 'name', ...flags], environment)
    assert.ok(partial !== undefined)
    const outcome = await readProxySettings(partial)

    assert.deepEqual('problems' in outcome && placesOf(outcome), [place])
  }
})

test('without any auth the start fails and names auth.oauth', async (t) => {
  const { invocation } = parsed(['registry'])
  assert.ok(invocation !== undefined)
  const nothing = await readRegistrySettings(invocation)

  assert.deepEqual('problems' in nothing && placesOf(nothing), ['auth.oauth'])
  assert.deepEqual(placesOf(await registry(t, 'sources: []\n')), ['registry.yaml:1:1 auth.oauth'])
})

test('the anonymous mode needs no provider', async () => {
  const { invocation } = parsed(['registry', '--auth-mode', 'anonymous'])
  assert.ok(invocation !== undefined)
  const outcome = await readRegistrySettings(invocation)

  assert.equal('settings' in outcome && outcome.settings.auth.mode, 'anonymous')
})

test('six mistakes of form are six problems, each at its line, before mistakes between sections', async (t) => {
  const reference = '$' + '{env:UNSET_FOR_SURE}'
  const sections = `sources:
  - { name: a, file: { path: x } }
  - { name: a, file: { path: x } }
registries:
  - { name: default, sources: [b] }
`
  const { problems } = await registry(
    t,
    `adress: 1
internalAddress: nowhere
auth:
  mode: open
  oauth:
    resourceUrl: ${reference}
    publicPaths: [public]
    providers: []
${sections}`,
  )

  assert.deepEqual([...placesOf({ problems })].sort(), [
    'registry.yaml:1:1 adress',
    'registry.yaml:2:18 internalAddress',
    'registry.yaml:4:9 auth.mode',
    'registry.yaml:6:18 auth.oauth.resourceUrl',
    'registry.yaml:7:19 auth.oauth.publicPaths[0]',
    'registry.yaml:8:16 auth.oauth.providers',
  ])
  assert.equal(problems.find(({ place }) => place.endsWith('adress'))?.suggestion, 'address')
  assert.match(problems.find(({ place }) => place.endsWith('internalAddress'))?.message ?? '', /HOST:PORT/)

  const { problems: next } = await registry(t, `auth: { mode: anonymous }\n${sections}`)
  assert.deepEqual(placesOf({ problems: next }), [
    'registry.yaml:4:13 sources[1].name',
    'registry.yaml:6:32 registries[0].sources[0]',
  ])
  assert.equal(next[1]?.suggestion, 'a')
})

test('a wrong item that is alone in its list causes no complaint about the list', async (t) => {
  const wrong = await registry(t, good.replace('name: default', 'name: a/b'))
  const empty = await registry(t, good.replace(/registries:[\s\S]*$/, 'registries: []\n'))

  assert.deepEqual(placesOf(wrong), ['registry.yaml:12:13 registries[0].name'])
  assert.deepEqual(placesOf(empty), ['registry.yaml:11:13 registries'])
})

test('a wrong value is never repeated', async (t) => {
  const { problems } = await registry(t, 'auth: hunter2\naddress: [hunter2]\nregistries: {hunter2: 1}\n')

  assert.equal(problems.length, 3)
  assert.ok(!JSON.stringify(problems).includes('hunter2'))
})

test('the content of a file that the settings name is a secret', async (t) => {
  const reference = '$' + '{file:token.txt}'
  const { outcome } = await registry(
    t,
    `${good}plugins: [{ use: ./x.js, with: { token: '${reference}' } }]\n`,
  )

  assert.ok('settings' in outcome)
  assert.deepEqual(outcome.settings.plugins, [{ use: './x.js', with: { token: 'hunter2' } }])
  assert.ok(outcome.secrets.has('hunter2'))
})

async function ran(t: TestContext, text: string) {
  const home = folder(t, { 'run.yaml': text })
  const { invocation } = parsed(['run', '--config', join(home, 'run.yaml')])
  assert.ok(invocation !== undefined)
  return { outcome: await readRunSettings(invocation), home }
}

test('the file of run is the list itself, or holds it', async (t) => {
  const [a, c] = [
    { use: 'a', with: { b: 1 } },
    { use: './c.js', id: 'c' },
  ]
  const list = [a, { scope: '/s', plugins: [c] }]
  for (const text of [JSON.stringify(list), JSON.stringify({ plugins: list })]) {
    const { outcome } = await ran(t, text)
    assert.deepEqual('settings' in outcome && outcome.settings.plugins, [
      { ...a, named: ['plugins', 0, 'use'] },
      { scope: '/s', plugins: [{ ...c, named: ['plugins', 1, 'plugins', 0, 'use'] }] },
    ])
  }
})

test('problems in a bare list have places in its file', async (t) => {
  const { outcome, home } = await ran(t, '- use: a\n- use: b\n  with: { c: 1 }\n')

  assert.ok('settings' in outcome)
  assert.equal(outcome.locate(['plugins', 1, 'with', 'c']), `${home}/run.yaml:3:14 [1].with.c`)
})

test('every mistake in a list of plugins is reported at its line', async (t) => {
  const text = '- { ues: a }\n- text\n- { scope: /s, plugins: [{ use: 3 }], use: x }\n- { scope: /t }\n'
  const { outcome, home } = await ran(t, text)

  assert.ok('problems' in outcome)
  const places = placesOf(outcome).map((place) => place.replace(`${home}/`, ''))
  assert.deepEqual(places, [
    'run.yaml:1:5 [0].ues',
    'run.yaml:2:3 [1]',
    'run.yaml:3:39 [2].use',
    'run.yaml:3:33 [2].plugins[0].use',
    'run.yaml:4:3 [3].plugins',
  ])
})
