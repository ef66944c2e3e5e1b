import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { closedPort, listening } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'
import { startedProgram } from '#kit/started-program.js'

for (const [code, said] of [
  ['ERR_MODULE_NOT_FOUND', 'are not installed'],
  ['ERR_DLOPEN_FAILED', 'could not be loaded \\(ERR_DLOPEN_FAILED\\)'],
]) {
  test(`where the packages ${said}, the error at the start says how to install them`, async (t) => {
    const entry = { use: 'trace/otlp', with: { url: 'http://127.0.0.1:9/v1/traces' } }
    const files = folder(t, {
      'run.json': JSON.stringify({ plugins: [entry] }),
      'resolve.mjs': `export const resolve = (name, context, next) => {
      if (name.startsWith('@opentelemetry/')) throw Object.assign(new Error('CANARY'), { code: '${code}' })
      return next(name, context)
    }`,
      'without.mjs': `import { register } from 'node:module'; register('./resolve.mjs', import.meta.url)`,
    })
    const environment = { NODE_OPTIONS: `--import=${join(files, 'without.mjs')}` }
    const running = startedProgram(t, ['run', '--config', join(files, 'run.json')], { environment })
    assert.notEqual(await running.ended(), 0)
    assert.match(running.output.stderr, new RegExp(`${said}: \`npm install @opentelemetry/api@1\\.9 `))
    assert.doesNotMatch(running.output.stderr, /CANARY/)
  })
}

test('OpenTelemetry writes nothing to standard output, whatever fails', async (t) => {
  const target = await listening(t, (request, response) => {
    request.resume().on('end', () => response.end('ok'))
  })
  const plugins = [
    listen,
    { use: 'auth/anonymous' },
    { use: 'trace/otlp', with: { url: `${await closedPort()}/v1/traces`, sample: 1 } },
    { use: 'forward/http', with: { target } },
  ]
  const files = folder(t, { 'run.json': JSON.stringify({ plugins }) })
  const environment = { OTEL_LOG_LEVEL: 'all', OTEL_EXPORTER_OTLP_TIMEOUT: 'x' }
  const running = startedProgram(t, ['run', '--config', join(files, 'run.json'), '--log-format', 'json'], {
    environment,
  })
  const address = await running.ready()
  const before = running.output.stdout
  for (let each = 0; each < 20; each++) assert.equal(await (await fetch(address)).text(), 'ok')
  running.stop()
  assert.equal(await running.ended(), 0)
  assert.equal(running.output.stdout, before)
  const lines = running.output.stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const lost = lines.find(({ failure }) => failure === 'EGRESS_REFUSED')
  assert.equal(lost?.reason, 'not_taken', running.output.stderr)
})
