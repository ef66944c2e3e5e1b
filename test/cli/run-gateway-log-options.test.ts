import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commands } from '#cli/commands/index.js'
import { logOptions } from '#cli/run-gateway.js'
import { program } from '#kit/program.js'
import { startedProgram } from '#kit/started-program.js'
import { parsed, placesOf, proxied } from './parsed.js'

function read(argv: readonly string[], environment: Record<string, string> = {}, usual?: 'error') {
  const { invocation, problems } = proxied(argv, environment)
  assert.ok(invocation, JSON.stringify(problems))
  return logOptions(invocation, usual)
}

test('flags and variables set the level and the format of the log', () => {
  assert.deepEqual(read([]), { level: 'info' })
  assert.deepEqual(read([], {}, 'error'), { level: 'error' })
  assert.deepEqual(read(['--log-level=warn', '--log-format=json'], {}, 'error'), {
    level: 'warn',
    pretty: false,
  })
  assert.deepEqual(read(['--log-level', 'off', '--log-format', 'pretty']), { level: 'silent', pretty: true })
  assert.deepEqual(read(['--log-level=warn', '--debug']), { level: 'debug' })
  assert.deepEqual(read([], { SALLYPORT_LOG_LEVEL: 'debug', SALLYPORT_LOG_FORMAT: 'json' }), {
    level: 'debug',
    pretty: false,
  })
})

test('every command that boots a list has the log flags, and refuses unknown values', () => {
  const booting = commands.filter(({ groups }) =>
    groups.some(({ options }) => options.some(({ name }) => name === 'print-plugins')),
  )
  assert.deepEqual(booting.map(({ name }) => name).toSorted(), [
    'proxy',
    'proxy stdio',
    'proxy tunnel',
    'quickstart',
    'registry',
    'run',
  ])
  for (const { name } of booting) {
    const read = parsed([...name.split(' '), '--log-level=loud', '--log-format=xml'])
    for (const place of ['--log-level', '--log-format']) assert.ok(placesOf(read).includes(place), name)
  }
})

test('a proxy in a pipe and its workers log as the flags say', async (t) => {
  const argv = ['proxy', 'x', '--target-uri', 'http://127.0.0.1:9/', '--access-log', 'all']
  const started = (...more: readonly string[]) => program(t, [...argv, ...more])
  const [json, pretty, quiet, workers] = [
    started(),
    started('--log-format', 'pretty'),
    started('--log-level', 'off'),
    startedProgram(t, [...argv, '--workers', '2', '--log-format', 'pretty', '--log-level', 'info']),
  ]
  for (const each of [json, pretty, quiet, workers]) {
    const main = await each.ready()
    assert.equal((await fetch(main)).status, 502)
    each.stop()
    assert.equal(await each.ended(), 0)
  }
  const lines = json.output.stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const [access] = lines.filter(({ msg }) => msg === 'request')
  assert.deepEqual([access.status, access.route, access.address], [502, '/*', '127.0.0.1'])
  assert.equal(quiet.output.stderr, '')
  for (const { output } of [pretty, workers]) {
    assert.match(output.stderr, /INFO.*: request\n/)
    assert.doesNotMatch(output.stderr, /^\{/m)
    assert.equal(output.stderr.includes('\u001b'), false)
  }
})

test('mistakes of certificates and trusted proxies are reported together, at their flags', async (t) => {
  const wrong = program(t, [
    'proxy',
    'x',
    '--target-uri=https://127.0.0.1:9/',
    '--target-ca-cert=/missing/ca.pem',
    '--target-client-cert=/missing/client.pem',
  ])
  const ranges = program(t, ['registry', '--auth-mode=anonymous', '--trusted-proxies=10.0.0.0/8,10.0.0.0/99'])
  assert.equal(await wrong.ended(), 2)
  assert.match(wrong.output.stderr, /--target-ca-cert.*there is no such file/)
  assert.match(wrong.output.stderr, /--target-client-cert.*needs --target-client-key/)
  assert.match(wrong.output.stderr, /--target-client-cert.*there is no such file/)
  assert.equal(await ranges.ended(), 2)
  assert.match(ranges.output.stderr, /--trusted-proxies.*expected an IP address or a range/)
})
