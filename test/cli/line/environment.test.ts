import assert from 'node:assert/strict'
import { test } from 'node:test'
import { environmentNames } from '#cli/options/environment.js'
import { settle } from '#cli/options/given.js'
import type { Given, Option } from '#cli/options/option.js'
import { proxyOAuthGroup } from '#cli/options/proxy-oauth.js'
import { secretOf } from '#cli/options/secret.js'
import { parsed, placesOf, proxied, valueGiven } from '../parsed.js'

test('every flag has a variable, and a flag wins over it', () => {
  const environment = { SALLYPORT_TARGET_URI: 'https://target.example', SALLYPORT_PORT: '8123' }

  assert.equal(valueGiven(parsed(['proxy', 'name'], environment), 'port'), 8123)
  assert.equal(valueGiven(parsed(['proxy', 'name', '--port', '1'], environment), 'port'), 1)
})

test('a problem in a variable is told under its name and without its value', () => {
  const { problems } = proxied([], { SALLYPORT_PORT: 'hunter2' })

  assert.deepEqual(placesOf({ problems }), ['SALLYPORT_PORT'])
  assert.ok(!JSON.stringify(problems).includes('hunter2'))
})

test('an empty variable is set, so that protection is never lost to an unset one', () => {
  assert.deepEqual(placesOf(proxied([], { SALLYPORT_OIDC_ISSUER: '' })), ['SALLYPORT_OIDC_ISSUER'])
})

test('a list in a variable has commas, and pairs have a line each', () => {
  const lists = proxied([], { SALLYPORT_OIDC_SCOPES: 'a,b' })
  const pairs = proxied([], { SALLYPORT_REMOTE_FORWARD_HEADERS: 'X-A=1,2\r\nX-B=3\n' })

  assert.deepEqual(valueGiven(lists, 'oidc-scopes'), ['a', 'b'])
  assert.deepEqual(valueGiven(pairs, 'remote-forward-headers'), [
    { name: 'X-A', value: '1,2' },
    { name: 'X-B', value: '3' },
  ])
})

test('the port that Kubernetes announces for a Service of our name is not taken for ours', () => {
  assert.equal(valueGiven(proxied([], { SALLYPORT_PORT: 'tcp://10.0.0.1:80' }), 'port'), 0)
})

test('help and version are no business of the environment', () => {
  const { asksFor, invocation } = proxied([], { SALLYPORT_HELP: 'true', SALLYPORT_VERSION: 'true' })

  assert.equal(asksFor, undefined)
  assert.notEqual(invocation, undefined)
})

const options: readonly Option[] = proxyOAuthGroup.options.filter(({ name }) =>
  name.includes('client-secret'),
)

function secretFor(flags: readonly string[], environment: Readonly<Record<string, string>>) {
  const occurrences = flags.map((flag) => {
    const [name = '', text = ''] = flag.slice(2).split('=')
    return { name, text }
  })
  const given = new Map<string, Given>()
  for (const option of options) {
    const settled = settle(option, occurrences, environment)
    if (settled !== undefined && 'value' in settled) given.set(option.name, settled)
  }
  return secretOf('remote-auth-client-secret', given)
}

test('a secret comes from its flag, else from its file, else from the environment', () => {
  const value = '--remote-auth-client-secret=by-flag'
  const file = '--remote-auth-client-secret-file=by-file'
  const environment = { SALLYPORT_REMOTE_OAUTH_CLIENT_SECRET: 'by-variable' }

  assert.deepEqual(secretFor([value, file], environment), {
    value: 'by-flag',
    place: '--remote-auth-client-secret',
  })
  assert.deepEqual(secretFor([file], environment), {
    file: 'by-file',
    place: '--remote-auth-client-secret-file',
  })
  assert.deepEqual(secretFor([], environment), {
    value: 'by-variable',
    place: 'SALLYPORT_REMOTE_OAUTH_CLIENT_SECRET',
  })
  assert.equal(secretFor([], {}), undefined)
})

test('the variables of the client secret are asked in their order', () => {
  const secret = options.find(({ name }) => name === 'remote-auth-client-secret')
  const names = secret === undefined ? [] : environmentNames(secret)

  assert.deepEqual(names, [
    'SALLYPORT_REMOTE_AUTH_CLIENT_SECRET',
    'SALLYPORT_REMOTE_OAUTH_CLIENT_SECRET',
    'SERVICE_REMOTE_OAUTH_CLIENT_SECRET',
  ])
  for (const [index, name] of names.entries()) {
    const set: Record<string, string> = Object.fromEntries(names.slice(index).map((each) => [each, each]))
    assert.deepEqual(secretFor([], set), { value: name, place: name })
  }
})
