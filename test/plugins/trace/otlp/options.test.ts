import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booted } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { program } from '#kit/program.js'
import { collector, END, messageOf, startedAt, toolCall, tracing } from '../collector.js'

test('the collector gets headers and a token from a file, and no log has them', async (t) => {
  const { url, received } = await collector(t)
  const bearerTokenFile = `${folder(t, { token: 'CANARY-token\n' })}/token`
  const { tracer, requestWith, stop, lines } = await tracing(t, {
    url,
    headers: { 'Api-Key': 'CANARY-key' },
    bearerTokenFile,
  })
  tracer.start({ request: await requestWith(), message: undefined, startedAt }).end?.(END)
  await stop()
  assert.equal(received[0]?.headers['authorization'], 'Bearer CANARY-token')
  assert.equal(received[0]?.headers['api-key'], 'CANARY-key')
  assert.doesNotMatch(JSON.stringify(lines), /CANARY/)
})

test('a wrong configuration stops the start', async (t) => {
  const refused = (options: object, expected: RegExp) =>
    assert.rejects(booted(t, [{ use: 'trace/otlp', with: options }]), (error: Error) => {
      assert.match(String(error.message), expected)
      assert.doesNotMatch(String(error.message), /CANARY/)
      return true
    })
  const url = 'http://127.0.0.1:9/v1/traces'
  await refused({}, /url/)
  await refused({ url: 'grpc://127.0.0.1' }, /http or https/)
  await refused({ url: 'http://me:CANARY@127.0.0.1/' }, /without user/)
  await refused({ url: `${url}?key=CANARY` }, /without user, query/)
  for (const bare of ['http://127.0.0.1:9', 'http://127.0.0.1:9/'])
    await refused({ url: bare }, /by default \/v1\/traces/)
  for (const sample of [-0.1, 1.1]) await refused({ url, sample }, /sample/)
  await refused({ url, headers: { 'x-key': 'CANARY\n' } }, /headers/)
  await refused({ url, headers: { host: 'CANARY' } }, /host/)
  await refused({ url, headers: { 'a name': 'CANARY' } }, /"a name" is not a header name/)
  await refused({ url: 'http://192.0.2.1/v1/traces', headers: { 'x-key': 'CANARY' } }, /plain text/)
  await refused({ url, bearerTokenFile: '/nowhere/token' }, /nowhere/)
  const files = folder(t, { token: 'CANARY CANARY', ca: 'CANARY' })
  await refused({ url, bearerTokenFile: `${files}/token` }, /holds no token/)
  await refused({ url, caCertPath: `${files}/ca` }, /expected PEM certificates/)
})

test('variables of OpenTelemetry change nothing, and headers in them stop the start', async (t) => {
  const elsewhere = await listening(t, () => assert.fail('the environment decided where traces go'))
  const set = (name: string, value: string) => {
    process.env[name] = value
    t.after(() => delete process.env[name])
  }
  set('OTEL_EXPORTER_OTLP_ENDPOINT', elsewhere)
  set('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', elsewhere)
  set('OTEL_EXPORTER_OTLP_TIMEOUT', '1')
  set('OTEL_EXPORTER_OTLP_CERTIFICATE', '/nowhere')
  set('OTEL_TRACES_SAMPLER', 'always_off')
  set('OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', '1')
  set('OTEL_BSP_MAX_QUEUE_SIZE', '1')
  set('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '1')
  set('OTEL_SERVICE_NAME', 'other')
  set('OTEL_RESOURCE_ATTRIBUTES', 'a=b')
  const { url, spans, received, resources } = await collector(t)
  const { tracer, requestWith, stop } = await tracing(t, { url })
  const request = await requestWith()
  for (const _ of [1, 2, 3]) tracer.start({ request, message: messageOf(toolCall), startedAt }).end?.(END)
  await stop()
  assert.equal(spans().length, 3)
  assert.equal(received.length, 1)
  assert.ok(Object.keys(spans()[0]?.attributes ?? {}).length > 5)
  assert.equal(resources()[0]['service.name'], 'sallyport')
  assert.equal(resources()[0]['a'], undefined)

  set('OTEL_EXPORTER_OTLP_HEADERS', 'api-key=CANARY')
  await assert.rejects(tracing(t, { url }), (error: Error) => {
    assert.match(error.message, /OTEL_EXPORTER_OTLP_HEADERS/)
    assert.doesNotMatch(error.message, /CANARY/)
    return true
  })
})

test('check finds wrong options and variables without a start', async (t) => {
  const checked = async (options: object, environment: Record<string, string> = {}) => {
    const entry = { use: 'trace/otlp', with: options }
    const home = folder(t, { 'run.json': JSON.stringify({ plugins: [{ use: 'auth/anonymous' }, entry] }) })
    const check = program(t, ['check', '--config', `${home}/run.json`], { environment })
    assert.notEqual(await check.ended(), 0)
    return check.output.stdout + check.output.stderr
  }
  const away = { url: 'http://192.0.2.1/v1/traces', bearerTokenFile: 'token' }
  assert.match(await checked(away), /plain text/)
  const near = { url: 'http://127.0.0.1:9/v1/traces' }
  const set = { OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'key=CANARY' }
  const said = await checked(near, set)
  assert.match(said, /OTEL_EXPORTER_OTLP_TRACES_HEADERS/)
  assert.doesNotMatch(said, /CANARY/)
})
