import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { catalogue } from 'sallyport/builtin'
import { Loader } from 'sallyport/embed'
import { type Finding, FindingList } from '#cli/tools/findings/finding-list.js'
import { examine } from '#cli/tools/verify/examine.js'
import { verifyPlugin } from '#cli/tools/verify/verify.js'
import { folder } from '#kit/folder.js'
import { startedProgram } from '#kit/started-program.js'

const root = join(import.meta.dirname, '../../../..')

function written(t: TestContext, text: string): string {
  const home = folder(t, { 'plugin.mjs': text })
  mkdirSync(join(home, 'node_modules'))
  symlinkSync(join(root, 'node_modules/zod'), join(home, 'node_modules/zod'))
  return home
}

/** In a process of the plugin's own, as the command does it. */
async function verify(t: TestContext, text: string, options?: Readonly<Record<string, unknown>>) {
  const home = written(t, text)
  const file = join(home, 'plugin.mjs')
  const findings = await verifyPlugin({ file, folder: home, about: 'plugin.mjs', options })
  return { findings, faults: faultsIn(findings) }
}

/** In this process, for what spares it. */
async function examined(t: TestContext, text: string, options?: Readonly<Record<string, unknown>>) {
  const home = written(t, text)
  const loaded = await new Loader(catalogue, home).load(join(home, 'plugin.mjs'))
  assert.ok('plugin' in loaded)
  const list = new FindingList('plugin.mjs')
  const job = { file: '', folder: home, about: '', options, canary: 'canary' }
  await examine(list, loaded.plugin, job, () => {})
  return { findings: list.all, faults: faultsIn(list.all) }
}

function faultsIn(findings: readonly Finding[]): readonly (string | undefined)[] {
  const faults = findings.filter(({ state }) => state === 'wrong')
  for (const { advice = '' } of faults) assert.notEqual(advice, '')
  return faults.map(({ code }) => code)
}

const plugin = (provides: string, setup: string, options = 'z.strictObject({})', more = ''): string => `
  import { setTimeout as later } from 'node:timers/promises'
  import { AuditSink, Authenticator, ClientRegistrar, Credential, definePlugin, Guard, HeaderSource, Health,
    SecretStore, Source, StateStore, Telemetry } from 'sallyport'
  import { connect, createServer } from 'node:net'
  import { z } from 'zod'
  export default definePlugin({ name: 'seeded', api: 1, summary: 'Does something.', provides: [${provides}],
    options: ${options}, ${more} setup(gateway, options) { ${setup} } })`

const guard = 'gateway.provide(Guard, () => {})'
const secret = `z.strictObject({ key: z.string().meta({ writeOnly: true }).describe('the key') })`

test('a plugin that keeps its contract has no fault, and the exit code is 0', async (t) => {
  const home = written(t, plugin('Guard', guard, secret))
  const verifying = startedProgram(t, ['plugin', 'verify', join(home, 'plugin.mjs'), '--json'])
  assert.equal(await verifying.ended(), 0, verifying.output.stdout + verifying.output.stderr)
  const findings: { state: string }[] = JSON.parse(verifying.output.stdout)
  assert.ok(findings.length >= 5)
  assert.ok(findings.every(({ state }) => state === 'ok'))
})

test('a plugin that breaks its contract is an exit code of 1, with a readable line', async (t) => {
  const home = written(t, plugin('Guard', `${guard}; throw new Error('no luck')`))
  const verifying = startedProgram(t, ['plugin', 'verify', join(home, 'plugin.mjs')])
  assert.equal(await verifying.ended(), 1)
  assert.match(
    verifying.output.stdout,
    /^wrong .*setup: plugin "seeded" failed in setup: no luck \(\S+:8:\d+\); setup only wires/m,
  )
})

const authenticator = (verdict: string): string =>
  plugin(
    'Authenticator',
    `gateway.provide(Authenticator, { provider: 'p', authenticate: (request) => ${verdict} })`,
  )

// It holds its thread as one that counts would, and leaves the processor to other tests.
const loop = 'for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);'

const seeded: Readonly<Record<string, readonly [code: string, text: string]>> = {
  'without a default export': ['NOT_LOADED', 'export const plugin = {}'],
  'made for another level': ['NOT_LOADED', plugin('', '').replace('api: 1', 'api: 2')],
  'that does not say what it does': [
    'SUMMARY_MISSING',
    plugin('Guard', guard).replace('Does something.', 'does something'),
  ],
  'whose options accept anything': ['OPTIONS_LAX', plugin('Guard', guard, 'z.object({})')],
  'whose warnings fail': [
    'WARNINGS_FAILED',
    plugin('Guard', guard, secret, 'warnings() { throw new Error("x") },'),
  ],
  'whose warnings are no list': [
    'WARNINGS_MALFORMED',
    plugin('Guard', guard, secret, 'warnings: () => ["key"],'),
  ],
  'whose warnings tell a secret': [
    'SECRET_TOLD',
    plugin('Guard', guard, secret, 'warnings: ({ key }) => [{ place: "key", message: key }],'),
  ],
  'with a secret that is not marked': [
    'SECRET_UNMARKED',
    plugin('Guard', guard, `z.strictObject({ apiKey: z.string().describe('the key') })`),
  ],
  'whose setup waits': ['SETUP_FAILED', plugin('Guard', `${guard}; return later(60_000)`)],
  'that provides what it did not declare': ['CONTRACT_BROKEN', plugin('', guard)],
  'that does not provide what it declares': ['CONTRACT_BROKEN', plugin('Guard', '')],
  'that can be set up only once': [
    'SETUP_ONCE',
    `let up = false\n${plugin('Guard', `if (up) throw new Error('up already'); up = true; ${guard}`)}`,
  ],
  'that leaves a timer': ['LEAK', plugin('Guard', `${guard}; setInterval(() => {}, 1000)`)],
  "that leaves an unref'd timer": ['LEAK', plugin('Guard', `${guard}; setInterval(() => {}, 1000).unref()`)],
  'that prints its secret': ['SECRET_TOLD', plugin('Guard', `${guard}; console.log(options)`, secret)],
  'whose guard fails': [
    'GUARD_THROWS',
    plugin('Guard', 'gateway.provide(Guard, (r) => void r.headers.origin.length)'),
  ],
  'that lets everybody in': [
    'AUTHENTICATOR_LAX',
    plugin(
      'Authenticator',
      `gateway.provide(Authenticator, { provider: 'p',
      authenticate: () => ({ identity: { provider: 'p', subject: 's', claims: {} } }) })`,
    ),
  ],
  'whose authenticator throws': [
    'AUTHENTICATOR_THROWS',
    plugin(
      'Authenticator',
      `gateway.provide(Authenticator, { provider: 'p',
      authenticate({ credentials }) { credentials.token.split('.')[1].at(0)
        return { rejection: { kind: 'invalid', cause: 'x' } } } })`,
    ),
  ],
  'whose headers are not declared': [
    'HEADERS_UNDECLARED',
    plugin('HeaderSource', `gateway.provide(HeaderSource, { names: [], headers: () => [['x-a', 'b']] })`),
  ],
  'whose source hands over objects': [
    'SOURCE_MALFORMED',
    plugin(
      'Source',
      `gateway.provide(Source, { name: 'n', location: 'p',
      fetch: async () => ({ kind: 'whole', payloads: [{}] }) })`,
    ),
  ],
  'whose audit sink makes others wait': [
    'SINK_ANSWERS',
    plugin('AuditSink', 'gateway.provide(AuditSink, async () => {})'),
  ],
  'that loops without end when it is loaded': ['BLOCKS', `${loop}\n${plugin('Guard', guard)}`],
  'whose guard loops without end': ['BLOCKS', plugin('Guard', `gateway.provide(Guard, () => { ${loop} })`)],
  'that ends the process': ['EXITS', plugin('Guard', 'gateway.provide(Guard, () => process.exit(0))')],
  'whose error nobody catches': [
    'ERROR_ASTRAY',
    plugin('Guard', `${guard}; gateway.onStart(() => void Promise.reject(new Error('astray')))`),
  ],
  'that never answers': ['HANGS', authenticator('new Promise(() => {})')],
  'whose rejection repeats the token': [
    'REJECTION_TELLS',
    authenticator(
      `({ rejection: { kind: 'invalid', cause: 'bad', detail: String(request.headers.authorization) } })`,
    ),
  ],
  'that changes the request': [
    'REQUEST_CHANGED',
    plugin('Guard', `gateway.provide(Guard, (request) => { request.headers['x-seen'] = 'yes' })`),
  ],
  'that changes what the one before it holds': [
    'HELD_CHANGED',
    plugin(
      'Credential',
      `gateway.provide(Credential, { name: 'c', present: (_request, held) => {
      if (held !== undefined) held.value += '!'
      return held } })`,
    ),
  ],
  'that ignores the abort of a sync': [
    'ABORT_IGNORED',
    plugin(
      'Source',
      `gateway.provide(Source, { name: 'n', location: 'p', fetch: () => new Promise(() => {}) })`,
    ),
  ],
  'that leaves a server': ['LEAK', plugin('Guard', `${guard}; createServer().listen(0)`)],
  'that leaves a socket': [
    'LEAK',
    plugin(
      'Guard',
      `${guard}; const server = createServer(); let left
      gateway.onStart(() => new Promise((done) => server.listen(0, () => {
        left = connect(server.address().port); left.on('connect', done) })))
      gateway.onStop(() => server.close())`,
    ),
  ],
  'that goes on listening for signals': [
    'LEAK',
    plugin('Guard', `${guard}; process.on('SIGUSR2', () => {})`),
  ],
  'that fails when it stops': [
    'STOP_FAILED',
    plugin('Guard', `${guard}; gateway.onStop(() => { throw new Error('not now') })`),
  ],
  'that does not come to its end': [
    'STOP_FAILED',
    plugin('Guard', `${guard}; gateway.onStop(() => new Promise(() => {}))`),
  ],
  'that shares with its like what one of them ends': [
    'SETUP_ONCE',
    `let open = false\n${plugin(
      'Guard',
      `open = true; gateway.onStop(() => { open = false })
      gateway.provide(Guard, () => { if (!open) throw new Error('closed') })`,
    )}`,
  ],
  'whose options are not checked': [
    'OPTIONS_UNCHECKED',
    plugin(
      'Guard',
      guard,
      `z.strictObject({ size: z.any().meta({ type: 'number' }).optional().describe('how much') })`,
    ),
  ],
  'whose secrets are made up': [
    'SECRET_INVENTED',
    plugin('SecretStore', `gateway.provide(SecretStore, { name: 's', get: (name) => ({}[name] ?? '') })`),
  ],
  'whose lock lets everybody in': [
    'LOCK_BROKEN',
    plugin(
      'StateStore',
      `const [held, ends] = [new Map(), new Map()]
      const get = async (key) => (Date.now() < (ends.get(key) ?? Infinity) ? held.get(key) : undefined)
      const set = async (key, value, { expiresAt } = {}) => (held.set(key, value), ends.set(key, expiresAt))
      const take = async (key) => { const value = get(key); held.delete(key); return value }
      gateway.provide(StateStore, { get, set, take, delete: async (key) => void held.delete(key), keys: async (prefix) => [...held.keys()].filter((k) => k.startsWith(prefix)),
        locked: (_key, work) => work() })`,
    ),
  ],
  'that gives one client to every issuer': [
    'CLIENT_FOREIGN',
    plugin(
      'ClientRegistrar',
      `gateway.provide(ClientRegistrar, { name: 'r',
      register: async () => ({ issuer: 'https://one.example', clientId: 'mine', clientSecret: 's' }) })`,
    ),
  ],
  'whose telemetry makes requests wait': [
    'TELEMETRY_ANSWERS',
    plugin('Telemetry', 'gateway.provide(Telemetry, { measure: async () => {} })'),
  ],
  'whose health asks before it answers': [
    'HEALTH_MALFORMED',
    plugin('Health', `gateway.provide(Health, { name: 'h', check: async () => ({ status: 'ok' }) })`),
  ],
}

// What these do would be done to the test itself, or is judged from outside.
const APART =
  /^(?:NOT_LOADED|BLOCKS|EXITS|ERROR_ASTRAY|SECRET_TOLD|LEAK|SETUP_FAILED|STOP_FAILED|HANGS|ABORT_IGNORED)$/

test('each plugin with a fault is caught by exactly one check', { concurrency: 3 }, async (t) => {
  const apart = Object.entries(seeded).filter(([, [code]]) => APART.test(code))
  const looks = apart.map(([what, [code, text]]) =>
    t.test(what, async (each) => {
      const verified = await verify(each, text)
      assert.deepEqual(verified.faults, [code], JSON.stringify(verified.findings))
    }),
  )
  await Promise.all(looks)
})

test('a plugin that logs its secret leaks nothing, since the gateway hides it', async (t) => {
  const text = plugin('Guard', `${guard}; gateway.log.debug('with ' + options.key)`, secret)
  const { faults, findings } = await verify(t, text)
  assert.deepEqual(faults, [], JSON.stringify(findings))
  assert.match(JSON.stringify(findings), /no secret option appears in the log/)
})

for (const [what, [code, text]] of Object.entries(seeded)) {
  if (APART.test(code)) continue
  test(`a plugin ${what} is caught by exactly one check`, async (t) => {
    const { findings, faults } = await examined(t, text)
    assert.deepEqual(faults, [code], JSON.stringify(findings))
  })
}

test("an unref'd timer that ends with the gateway is no leak, nor is one that runs out by itself", async (t) => {
  const text = plugin(
    'Guard',
    `${guard}; const beat = setInterval(() => {}, 1000).unref()
    setTimeout(() => {}, 60_000).unref()
    gateway.onStop(() => clearInterval(beat))`,
  )
  const { faults, findings } = await verify(t, text)
  assert.deepEqual(faults, [], JSON.stringify(findings))
})

test('options come from a file where sample options do not fit', async (t) => {
  const options = `z.strictObject({ size: z.string().regex(/^[0-9]+$/).describe('how much') })`
  const text = plugin('Guard', guard, options)
  assert.deepEqual((await examined(t, text)).faults, ['OPTIONS_NEEDED'])
  assert.deepEqual((await verify(t, text, { size: '3' })).faults, [])
})

test('each option that is refused is named', async (t) => {
  const options = `z.strictObject({ size: z.int().describe('how much'), of: z.string().describe('of what') })`
  const given = { size: 'three', off: 'x' }
  const { findings } = await examined(t, plugin('Guard', guard, options), given)
  const { detail } = findings.find(({ code }) => code === 'OPTIONS_NEEDED') ?? {}
  assert.match(detail ?? '', /with\.size .*; with\.off .*"of"/)
})

test('a plugin that needs another plugin is not reported as wrong for that', async (t) => {
  const text = plugin('', '', undefined, 'requires: [Source],')
  const { faults, findings } = await examined(t, text)
  assert.deepEqual(faults, [])
  assert.ok(findings.some((finding) => finding.code === 'NEEDS_OTHERS'))
})

test('a path has no sample: without options setup is not tried, and paths are relative to the file of options', async (t) => {
  const options = `z.strictObject({ keyFile: z.string().describe('where the key is') })`
  const setup = `readFileSync(gateway.path(options.keyFile)); ${guard}`
  const home = written(t, `import { readFileSync } from 'node:fs'\n${plugin('Guard', setup, options)}`)
  const file = join(home, 'plugin.mjs')
  const elsewhere = folder(t, { 'options.yaml': 'keyFile: ./here.key\n', 'here.key': 'k' })

  const [alone, given] = [[], ['--with', join(elsewhere, 'options.yaml')]].map((more) =>
    startedProgram(t, ['plugin', 'verify', file, ...more]),
  )
  assert.equal(await alone?.ended(), 0)
  assert.match(
    alone?.output.stdout ?? '',
    /^warning .*options: setup was not tried: .*keyFile; .*--with FILE$/m,
  )
  assert.equal(await given?.ended(), 0, given?.output.stdout)
  assert.match(given?.output.stdout ?? '', /contract: it keeps the contract of guard/)
})

test('a summary that is not a sentence is quoted with its faults', async (t) => {
  const faultOf = async (summary: string): Promise<string | undefined> => {
    const text = plugin('Guard', guard).replace("'Does something.'", JSON.stringify(summary))
    const { findings } = await examined(t, text)
    return findings.find((finding) => finding.code === 'SUMMARY_MISSING')?.detail
  }
  assert.equal(await faultOf('x.'), 'seeded has a summary that does not begin with a capital letter: "x."')
  assert.equal(await faultOf('Xs'), 'seeded has a summary that does not end with a full stop: "Xs"')
})
