import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsed, placesOf, proxied, valueGiven } from '../parsed.js'

const target = ['--target-uri', 'https://target.example']

test('flags may stand before, between and after the words', () => {
  const words = ['proxy', 'name']
  for (const place of [0, 1, 2]) {
    const argv = [...words.slice(0, place), ...target, ...words.slice(place)]

    const { invocation } = parsed(argv)
    assert.equal(invocation?.command.name, 'proxy')
    assert.deepEqual(invocation?.positionals, ['name'])
  }
})

test('a flag between proxy and stdio does not turn stdio into a name', () => {
  const between = parsed(['proxy', ...target, 'stdio', 'foo'])
  const alone = parsed(['proxy', 'stdio', ...target])

  assert.equal(between.invocation?.command.name, 'proxy stdio')
  assert.deepEqual(between.invocation?.positionals, ['foo'])
  assert.deepEqual(placesOf(alone), ['SERVER_NAME'])
})

test('a value may follow its flag or an equals sign, and may hold more of them', () => {
  assert.equal(valueGiven(proxied(['--host', '::1']), 'host'), '::1')
  assert.equal(valueGiven(proxied(['--host=::1']), 'host'), '::1')
  assert.equal(valueGiven(proxied(['--oidc-audience=a=b']), 'oidc-audience'), 'a=b')
})

test('a value that begins with a dash is written with an equals sign', () => {
  assert.equal(valueGiven(proxied(['--oidc-audience=-x']), 'oidc-audience'), '-x')
  assert.deepEqual(placesOf(proxied(['--oidc-audience', '-x'])), ['--oidc-audience'])
})

test('a word after a flag without a value is not read as a flag, so a secret is never repeated', () => {
  const { problems } = proxied(['--oidc-client-secret', '--hunter2', '--port', '80'])

  assert.deepEqual(placesOf({ problems }), ['--oidc-client-secret'])
  assert.ok(!JSON.stringify(problems).includes('hunter2'))
})

test('a known flag after a flag without a value is read as a flag', () => {
  assert.deepEqual(placesOf(proxied(['--host', '--port', 'x'])), ['--host', '--port'])
  assert.deepEqual(placesOf(proxied(['--host'])), ['--host'])
})

test('a required flag without its value is reported once', () => {
  assert.deepEqual(placesOf(parsed(['run', '--config'])), ['--config'])
  assert.deepEqual(placesOf(parsed(['proxy', 'name', '--target-uri'])), ['--target-uri'])
})

test('an empty value is refused where it has no meaning', () => {
  assert.deepEqual(placesOf(proxied(['--oidc-audience', ''])), ['--oidc-audience'])
  assert.deepEqual(placesOf(proxied(['--host='])), ['--host'])
  assert.deepEqual(valueGiven(proxied(['--allowed-origins', '']), 'allowed-origins'), [])
})

test('digits that are text stay text', () => {
  const { invocation } = parsed(['proxy', '0123', ...target, '--oidc-audience', '0123'])

  assert.deepEqual(invocation?.positionals, ['0123'])
  assert.equal(invocation?.options.get('oidc-audience')?.value, '0123')
})

test('two dashes end the flags', () => {
  assert.deepEqual(parsed(['proxy', ...target, '--', '--port']).invocation?.positionals, ['--port'])
})

test('a boolean takes true and false after an equals sign and nothing else', () => {
  assert.equal(valueGiven(proxied(['--debug']), 'debug'), true)
  assert.equal(valueGiven(proxied(['--debug=true']), 'debug'), true)
  assert.equal(valueGiven(proxied(['--debug=false']), 'debug'), false)
  assert.equal(valueGiven(proxied([]), 'debug'), false)
  assert.deepEqual(placesOf(proxied(['--debug=maybe'])), ['--debug'])
})

test('--no- is a part of a name like any other', () => {
  assert.deepEqual(placesOf(proxied(['--no-debug'])), ['--no-debug'])
})

test('an unknown flag is reported with the nearest known flag', () => {
  const { problems } = proxied(['--oidc-isuer=https://idp.example'])

  assert.deepEqual(placesOf({ problems }), ['--oidc-isuer'])
  assert.equal(problems[0]?.suggestion, '--oidc-issuer')
  assert.ok(!problems[0]?.message.includes('idp.example'))
})

test('the beginning of a flag is reported with the shortest flag that begins so', () => {
  assert.equal(proxied(['--target=x']).problems[0]?.suggestion, '--target-uri')
  assert.equal(proxied(['--oidc=x']).problems[0]?.suggestion, '--oidc-issuer')
  assert.equal(proxied(['--xy=x']).problems[0]?.suggestion, undefined)
})

test("a flag of another command is refused and named as that command's", () => {
  const { problems } = parsed(['run', '--config', 'x', '--target-uri', 'https://target.example'])

  assert.deepEqual(placesOf({ problems }), ['--target-uri'])
  assert.match(problems[0]?.message ?? '', /"proxy"/)
})

test('a flag that is no list may be given once', () => {
  assert.deepEqual(placesOf(proxied(['--port', '1', '--port', '1'])), ['--port'])
  assert.deepEqual(placesOf(proxied(['--debug', '--debug'])), ['--debug'])
})

test('lists are split at commas, and repeated lists are joined', () => {
  const scopes = valueGiven(proxied(['--oidc-scopes', 'a, b', '--oidc-scopes=c']), 'oidc-scopes')

  assert.deepEqual(scopes, ['a', 'b', 'c'])
  assert.deepEqual(placesOf(proxied(['--oidc-scopes', 'a,,b'])), ['--oidc-scopes'])
})

test('pairs keep their order, their repetitions, and every character of the value', () => {
  const flag = '--remote-forward-headers'
  const headers = valueGiven(
    proxied([flag, 'X-B=1,2', `${flag}=X-A=a=b`, flag, 'X-B=']),
    'remote-forward-headers',
  )

  assert.deepEqual(headers, [
    { name: 'X-B', value: '1,2' },
    { name: 'X-A', value: 'a=b' },
    { name: 'X-B', value: '' },
  ])
})

test('a pair without a name is a problem that does not repeat it', () => {
  for (const wrong of ['hunter2', '=hunter2']) {
    const { problems } = proxied(['--remote-forward-headers', wrong])

    assert.deepEqual(placesOf({ problems }), ['--remote-forward-headers'])
    assert.ok(!JSON.stringify(problems).includes('hunter2'))
  }
})

test('an unknown command is reported with the nearest known command', () => {
  assert.equal(parsed(['regstry']).problems[0]?.suggestion, 'registry')
  assert.equal(parsed([]).problems.length, 1)
  assert.equal(parsed(['plugin']).problems[0]?.message, '"plugin new" or "plugin verify" is expected')
  for (const name of ['constructor', '__proto__', 'toString']) assert.equal(parsed([name]).problems.length, 1)
})

test('positionals are counted and never repeated', () => {
  for (const argv of [
    ['proxy', ...target],
    ['proxy', 'a', 'hunter2', ...target],
    ['proxy', '', ...target],
  ]) {
    const { problems } = parsed(argv)

    assert.deepEqual(placesOf({ problems }), ['SERVER_NAME'])
    assert.ok(!JSON.stringify(problems).includes('hunter2'))
  }
  assert.deepEqual(placesOf(parsed(['registry', 'x'])), ['sallyport registry'])
})

test('all problems are reported at once', () => {
  const found = parsed([
    'proxy',
    '--port',
    '99999',
    '--oidc-isuer',
    'x',
    '--max-body=2XB',
    '--debug=2',
    '--host',
  ])

  assert.deepEqual([...placesOf(found)].sort(), [
    '--debug',
    '--host',
    '--max-body',
    '--oidc-isuer',
    '--port',
    '--target-uri',
  ])
})

test('help and version work on a command line with other mistakes', () => {
  assert.equal(parsed(['proxy', '--port', 'x', '--nonsense', '-h']).asksFor, 'help')
  assert.equal(parsed(['nonsense', '--help']).asksFor, 'help')
  assert.equal(parsed(['--version']).asksFor, 'version')
  assert.equal(parsed(['-v']).asksFor, 'version')
  assert.equal(parsed(['version']).asksFor, 'version')
  assert.equal(parsed(['help']).asksFor, 'help')
  const named = parsed(['help', 'proxy', 'stdio'])
  assert.equal(named.asksFor, 'help')
  assert.equal(named.command?.name, 'proxy stdio')
  assert.equal(parsed(['proxy', 'help', '--target-uri', 'http://127.0.0.1']).asksFor, undefined)
  assert.equal(proxied(['--help=false']).asksFor, undefined)
  assert.equal(proxied(['--', '--help']).asksFor, undefined)
})

test('an unknown short flag is reported by its letter only', () => {
  assert.deepEqual(placesOf(proxied(['-phunter2'])), ['-p'])
})

test('a repeatable positional takes all further words, and each is checked', () => {
  assert.deepEqual(parsed(['validate', 'a.json', '-', '--json', 'b']).invocation?.positionals, [
    'a.json',
    '-',
    'b',
  ])
  assert.deepEqual(placesOf(parsed(['validate', 'a.json', ''])), ['FILE'])
  assert.deepEqual(placesOf(parsed(['validate'])), ['FILE'])
})
