import assert from 'node:assert/strict'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { boot } from 'sallyport/embed'
import { contextFor } from '#kit/booted.js'
import { folder } from '#kit/folder.js'

const client = { clientId: 'gateway', clientSecret: 'x' }
const google = { use: 'login/oidc', with: { issuerUrl: 'https://accounts.google.com', ...client } }
const ENTRA = 'https://login.microsoftonline.com/common/oauth2/v2.0'
const entra = {
  use: 'login/oauth2',
  with: {
    authorizeUrl: `${ENTRA}/authorize`,
    tokenUrl: `${ENTRA}/token`,
    userUrl: 'https://graph.microsoft.com/oidc/userinfo',
    ...client,
  },
}
const corp = { use: 'login/oidc', with: { issuerUrl: 'https://idp.example.com', ...client } }
const resourceUrl = 'https://mcp.example.com/mcp'
const key = Buffer.alloc(32, 1).toString('base64')

const broker = (options: object = {}) => ({
  use: 'issuer/broker',
  with: { resourceUrl, keyFile: './broker.key', ...options },
})

const rest = [{ use: 'discovery/issuer' }, { use: 'state/memory' }]

// A list, and what the start says about it.
const mistakes: readonly (readonly [what: string, list: readonly object[], message: RegExp])[] = [
  [
    'Google without a claim that is required',
    [google, broker()],
    /everybody in the world can have an account/,
  ],
  ['all tenants of Entra ID with anyone', [entra, broker({ require: 'anyone' })], /expected the claim tid/],
  [
    'all tenants of Entra ID by an e-mail',
    [entra, broker({ require: { email: 'a@b.example' } })],
    /expected the claim tid/,
  ],
  ['an empty requirement', [corp, broker({ require: {} })], /names no claim/],
  ['another word for anyone', [corp, broker({ require: 'all' })], /require/],
  ['a list as the requirement', [corp, broker({ require: ['a'] })], /require/],
  ['anonymous callers', [corp, broker(), { use: 'auth/anonymous' }], /excludes auth\/anonymous/],
  ['no login', [broker()], /login provider/],
  [
    'a resource of plain http',
    [corp, broker({ resourceUrl: 'http://mcp.example.com/mcp' })],
    /expected an https URL/,
  ],
  [
    'listed clients without a host',
    [corp, broker({ clients: { registration: 'listed' } })],
    /is needed with `registration: listed`/,
  ],
  ['a claim that the broker sets', [corp, broker({ claims: ['sub'] })], /`sub` is set by the broker/],
  [
    'a secret and keys of one client',
    [
      corp,
      broker({
        clients: {
          given: [
            {
              clientId: 'a',
              name: 'A',
              redirectUris: ['https://a.example/cb'],
              clientSecretFile: './x',
              jwksUrl: 'https://a.example/keys',
            },
          ],
        },
      }),
    ],
    /excludes clientSecretFile/,
  ],
  [
    'a list of keys with one that is missing',
    [corp, broker({ keyFile: ['./good.key', './missing.key'] })],
    /cannot read .*missing\.key/,
  ],
  [
    'a file that holds no key',
    [corp, broker({ keyFile: './short.key' })],
    /holds no key: expected at least 32 bytes/,
  ],
]

for (const [what, list, message] of mistakes) {
  test(`the broker does not start with ${what}`, async (t) => {
    const home = folder(t, { 'good.key': key, 'short.key': 'c2hvcnQ=' })
    await assert.rejects(
      async () => {
        const running = await boot([...rest, ...list] as never, contextFor({ folder: home }))
        t.after(() => running.stop())
      },
      { message },
    )
  })
}

test('the first start makes a key file for its user alone, and a later one keeps it', async (t) => {
  const home = folder(t, {})
  const start = async () => {
    const running = await boot([...rest, corp, broker()], contextFor({ folder: home }))
    await running.stop()
    return readFileSync(join(home, 'broker.key'), 'utf8')
  }
  const [first, ...others] = await Promise.all([start(), start(), start()])
  assert.deepEqual(others, [first, first], 'of three starts at once one makes it')
  assert.ok(Buffer.from(first, 'base64').length >= 32)
  assert.equal(statSync(join(home, 'broker.key')).mode & 0o777, 0o600)
  writeFileSync(join(home, 'broker.key'), key)
  chmodSync(join(home, 'broker.key'), 0o600)
  assert.equal(await start(), key)
})
