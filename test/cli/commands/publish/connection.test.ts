import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isScope, type List } from 'sallyport'
import { connectionTo } from '#cli/commands/publish/connection.js'
import { parsed } from '../../parsed.js'

const REGISTRY = new URL('https://registry.example.com/registry/default/v0.1')

/** The entries that a command line becomes, by their plugins. */
function entriesOf(flags: readonly string[] = [], environment: Readonly<Record<string, string>> = {}) {
  const { invocation } = parsed(
    ['publish', 'server.json', `--registry=${REGISTRY.href}`, ...flags],
    environment,
  )
  assert.ok(invocation !== undefined)
  const tokenFile = invocation.options.get('token-file')?.value
  const connection = connectionTo(
    REGISTRY,
    typeof tokenFile === 'string' ? tokenFile : undefined,
    invocation.options,
  )
  assert.ok('settings' in connection)
  const list: List = connection.settings
  return new Map(list.flatMap((item) => (isScope(item) ? [] : [[item.use, item.with] as const])))
}

test('publish signs in when the registry requires it, waits for the person, and stores the login as the proxy does', () => {
  const entries = entriesOf()
  const { target, login, timeout, grant } = entries.get('credential/oauth') as Record<string, unknown>
  assert.deepEqual(
    [target, login, timeout, grant],
    [REGISTRY.href, 'demand', '600000ms', 'authorization_code'],
  )
  assert.ok(entries.has('state/sqlite') && entries.has('secrets/keyring') && entries.has('registrar/dynamic'))
  assert.equal(entries.has('listen/http'), false)
  assert.equal((entries.get('forward/http') as { target: string }).target, REGISTRY.origin)
})

test('without a browser publish signs in on another device, with the given client', () => {
  const entries = entriesOf([
    '--remote-auth-device',
    '--remote-auth-client-id=ci',
    '--remote-auth-timeout=1m',
  ])
  const { grant, timeout } = entries.get('credential/oauth') as Record<string, unknown>
  assert.deepEqual([grant, timeout], ['device_code', '60000ms'])
  assert.equal((entries.get('registrar/given') as { clientId: string }).clientId, 'ci')
})

test("with the token of a file publish does not sign in, even with the proxy's variables set", () => {
  const entries = entriesOf(['--token-file=./token', '--target-ca-cert=./ca.pem'], {
    SALLYPORT_REMOTE_AUTH_CLIENT_ID: 'proxy',
  })
  assert.equal(entries.has('credential/oauth'), false)
  assert.equal((entries.get('credential/static-bearer') as { file: string }).file, './token')
  assert.equal((entries.get('forward/http') as { targetCaCert: string }).targetCaCert, './ca.pem')
})
