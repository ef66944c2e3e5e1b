import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readProxySettings } from '#cli/commands/proxy/run.js'
import { environmentNames } from '#cli/line/environment.js'
import { oauth } from '#plugins/presets/proxy/table.js'
import { parsed, placesOf, proxied, valueGiven } from '../parsed.js'

test('every flag has a variable, and a flag wins over it', () => {
  const environment = { SALLYPORT_TARGET_URI: 'https://target.example', SALLYPORT_PORT: '8123' }

  assert.equal(valueGiven(parsed(['proxy', 'name'], environment), 'port'), 8123)
  assert.equal(valueGiven(parsed(['proxy', 'name', '--port', '1'], environment), 'port'), 1)
})

test('a problem in a variable is reported with its name and without its value', () => {
  const { problems } = proxied([], { SALLYPORT_PORT: 'hunter2' })

  assert.deepEqual(placesOf({ problems }), ['SALLYPORT_PORT'])
  assert.ok(!JSON.stringify(problems).includes('hunter2'))
})

test('an empty variable counts as set, so that it never turns protection off silently', () => {
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

test('the port variable that Kubernetes sets for a Service of our name is ignored', () => {
  assert.equal(valueGiven(proxied([], { SALLYPORT_PORT: 'tcp://10.0.0.1:80' }), 'port'), 0)
})

test('no variable sets help or version', () => {
  const { asksFor, invocation } = proxied([], { SALLYPORT_HELP: 'true', SALLYPORT_VERSION: 'true' })

  assert.equal(asksFor, undefined)
  assert.notEqual(invocation, undefined)
})

/** The client secret of a login, as the settings have it, and the place of each. */
async function secretFor(flags: readonly string[], environment: Readonly<Record<string, string>>) {
  const { invocation } = proxied(['--remote-auth-client-id=mine', ...flags], environment)
  assert.ok(invocation !== undefined)
  const outcome = await readProxySettings(invocation)
  assert.ok('settings' in outcome)
  const { remoteAuthClientSecret: value, remoteAuthClientSecretFile: file } = outcome.settings
  if (value !== undefined) return { value, place: outcome.locate(['remoteAuthClientSecret']) }
  return file === undefined ? undefined : { file, place: outcome.locate(['remoteAuthClientSecretFile']) }
}

test('a secret comes from its flag, else from its file, else from the environment', async () => {
  const value = '--remote-auth-client-secret=by-flag'
  const file = '--remote-auth-client-secret-file=by-file'
  const environment = { SALLYPORT_REMOTE_OAUTH_CLIENT_SECRET: 'by-variable' }

  assert.deepEqual(await secretFor([value, file], environment), {
    value: 'by-flag',
    place: '--remote-auth-client-secret',
  })
  assert.deepEqual(await secretFor([file], environment), {
    file: 'by-file',
    place: '--remote-auth-client-secret-file',
  })
  assert.deepEqual(await secretFor([], environment), {
    value: 'by-variable',
    place: 'SALLYPORT_REMOTE_OAUTH_CLIENT_SECRET',
  })
  assert.equal(await secretFor([], {}), undefined)
})

test('the variables of the client secret are read in their order', async () => {
  const secret = oauth.options.find(({ name }) => name === 'remote-auth-client-secret')
  const names = secret === undefined ? [] : environmentNames(secret)

  assert.deepEqual(names, [
    'SALLYPORT_REMOTE_AUTH_CLIENT_SECRET',
    'SALLYPORT_REMOTE_OAUTH_CLIENT_SECRET',
    'SERVICE_REMOTE_OAUTH_CLIENT_SECRET',
  ])
  for (const [index, name] of names.entries()) {
    const set: Record<string, string> = Object.fromEntries(names.slice(index).map((each) => [each, each]))
    assert.deepEqual(await secretFor([], set), { value: name, place: name })
  }
})
