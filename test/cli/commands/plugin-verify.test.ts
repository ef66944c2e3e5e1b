import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folder } from '../../kit/folder.js'
import { program } from '../../kit/program.js'

const root = join(import.meta.dirname, '../../..')

async function verify(t: TestContext, text: string, options?: string) {
  const files = { 'plugin.mjs': text, ...(options !== undefined && { 'options.yaml': options }) }
  const home = folder(t, files)
  mkdirSync(join(home, 'node_modules'))
  symlinkSync(join(root, 'node_modules/zod'), join(home, 'node_modules/zod'))
  const giving = options === undefined ? [] : ['--with', join(home, 'options.yaml')]
  const verifying = program(t, ['plugin', 'verify', join(home, 'plugin.mjs'), '--json', ...giving])
  const code = await verifying.ended()
  const { stdout, stderr } = verifying.output
  assert.equal(stderr, '', stderr)
  const findings: { state: string; code: string; detail: string; advice?: string }[] = JSON.parse(stdout)
  const faults = findings.filter(({ state }) => state === 'wrong')
  for (const { advice = '' } of faults) assert.notEqual(advice, '')
  return { code, findings, faults: faults.map((fault) => fault.code) }
}

const plugin = (provides: string, setup: string, options = 'z.strictObject({})', more = ''): string => `
  import { setTimeout as later } from 'node:timers/promises'
  import { AuditSink, Authenticator, definePlugin, Guard, HeaderSource, Refusal, Source } from 'sallyport'
  import { z } from 'zod'
  export default definePlugin({ name: 'seeded', api: 1, summary: 'Does something.', provides: [${provides}],
    options: ${options}, ${more} setup(gateway, options) { ${setup} } })`

const guard = 'gateway.provide(Guard, () => {})'
const secret = `z.strictObject({ key: z.string().meta({ writeOnly: true }).describe('the key') })`

test('a plugin that keeps its contract has nothing wrong', async (t) => {
  const { code, findings } = await verify(t, plugin('Guard', guard, secret))
  assert.equal(code, 0, JSON.stringify(findings))
  assert.ok(findings.every(({ state }) => state === 'ok'))
})

const seeded: Readonly<Record<string, readonly [code: string, text: string]>> = {
  'without a default export': ['NOT_LOADED', 'export const plugin = {}'],
  'made for another level': ['NOT_LOADED', plugin('', '').replace('api: 1', 'api: 2')],
  'that does not say what it does': [
    'SUMMARY_MISSING',
    plugin('Guard', guard).replace('Does something.', 'does something'),
  ],
  'whose options accept anything': ['OPTIONS_LAX', plugin('Guard', guard, 'z.object({})')],
  'with a secret that is not marked': [
    'SECRET_UNMARKED',
    plugin('Guard', guard, `z.strictObject({ apiKey: z.string().describe('the key') })`),
  ],
  'whose setup waits': ['SETUP_FAILED', plugin('Guard', `${guard}; return later(60_000)`)],
  'that provides what it did not declare': ['SETUP_FAILED', plugin('', guard)],
  'that can be set up only once': [
    'SETUP_ONCE',
    `let up = false\n${plugin('Guard', `if (up) throw new Error('up already'); up = true; ${guard}`)}`,
  ],
  'that leaves a timer': ['LEAK', plugin('Guard', `${guard}; setInterval(() => {}, 1000)`)],
  'that logs its secret': [
    'SECRET_TOLD',
    plugin('Guard', `${guard}; gateway.log.debug('with ' + options.key)`, secret),
  ],
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
      `gateway.provide(Source, { name: 'n', place: 'p',
      fetch: async () => ({ kind: 'whole', payloads: [{}] }) })`,
    ),
  ],
  'whose audit sink makes others wait': [
    'SINK_ANSWERS',
    plugin('AuditSink', 'gateway.provide(AuditSink, async () => {})'),
  ],
}

for (const [what, [code, text]] of Object.entries(seeded)) {
  test(`a plugin ${what} is caught, and by nothing else`, async (t) => {
    const verified = await verify(t, text)
    assert.deepEqual(verified.faults, [code], JSON.stringify(verified.findings))
    assert.equal(verified.code, 1)
  })
}

test('options come from a file, where made-up ones will not do', async (t) => {
  const options = `z.strictObject({ size: z.string().regex(/^[0-9]+$/).describe('how much') })`
  const text = plugin('Guard', guard, options)
  assert.deepEqual((await verify(t, text)).faults, ['OPTIONS_NEEDED'])
  assert.deepEqual((await verify(t, text, 'size: "3"\n')).faults, [])
})

test('what needs another plugin is not called wrong for it', async (t) => {
  const text = plugin('', '', undefined, 'requires: [Source],')
  const { code, findings } = await verify(t, text)
  assert.equal(code, 0)
  assert.ok(findings.some((finding) => finding.code === 'NEEDS_OTHERS'))
})
