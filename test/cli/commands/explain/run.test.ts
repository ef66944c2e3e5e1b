import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Issuer, issuing } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'
import { cli } from '#kit/program.js'

async function explain(t: TestContext, config: unknown, token: string, way: 'file' | 'stdin' = 'stdin') {
  const files = folder(t, { 'config.json': JSON.stringify(config), token })
  const argv = ['explain', '--config', join(files, 'config.json')]
  if (way === 'file') argv.push('--token-file', join(files, 'token'))
  const { code, stdout, stderr } = await cli(t, argv, { input: way === 'stdin' ? token : '' })
  const signature = token.split('.')[2]?.trim()
  if (signature !== undefined) {
    for (let at = 0; at + 6 <= signature.length; at++) {
      const piece = signature.slice(at, at + 6)
      assert.equal((stdout + stderr).includes(piece), false, 'a piece of the signature was printed')
    }
  }
  return { code, stdout, stderr }
}

const registryOf = (...providers: readonly object[]) => ({
  auth: { oauth: { resourceUrl: 'https://registry.example', providers } },
})

/** The line about one thing, as `ok` or `wrong` and the rest. */
function finding(stdout: string, about: string): readonly [string, string] {
  const line = new RegExp(`^ +(ok|wrong) +${about} +(.*)$`, 'm').exec(stdout)
  assert.ok(line, `nothing about ${about} in\n${stdout}`)
  return [line[1] ?? '', line[2] ?? '']
}

const causesOf = (stdout: string) =>
  [...stdout.matchAll(/^\d\. (\S+): (?:refuses it \((.+)\)|(accepts it|not asked))$/gm)].map(
    ([, name, cause, other]) => [name, cause ?? other],
  )

test('an accepted token ends with 0, and authenticators after the accepting one are not asked', async (t) => {
  const issuer = await issuing(t)
  const other = { ...issuer.provider, name: 'other', issuerUrl: `${issuer.url}/` }
  const config = registryOf(other, issuer.provider, { ...issuer.provider, name: 'late' })
  const { code, stdout } = await explain(t, config, `Bearer ${await issuer.jwt()}\n`, 'file')
  assert.equal(code, 0, stdout)
  assert.deepEqual(causesOf(stdout), [
    ['other', 'foreign'],
    ['corp', 'accepts it'],
    ['late', 'not asked'],
  ])
})

test('a token without a subject is reported as the token of its client', async (t) => {
  const issuer = await issuing(t)
  const subjectOf = async (claims: object) => {
    const { stdout } = await explain(t, registryOf(issuer.provider), await issuer.jwt({ ...claims }))
    return finding(stdout, 'sub')
  }
  assert.deepEqual(await subjectOf({ sub: 'ada', azp: 'cli' }), ['ok', '"ada"'])
  const [, detail] = await subjectOf({ sub: undefined, azp: 'cli' })
  assert.match(detail, /^missing: limits and logs name the caller "cli", and so all callers/)
})

test('an ID token is named as such, with the option that would accept it', async (t) => {
  const issuer = await issuing(t)
  const token = await issuer.jwt({ at_hash: 'x' }, { typ: undefined })
  const strict = await explain(t, registryOf(issuer.provider), token)
  const [verdict, why] = finding(strict.stdout, 'typ')
  assert.equal(verdict, 'wrong')
  assert.match(why, /^missing: its claims are those of an ID token: set `acceptIdTokens` if/)
  const lenient = await explain(t, registryOf({ ...issuer.provider, acceptIdTokens: true }), token)
  assert.deepEqual([lenient.code, finding(lenient.stdout, 'typ')], [0, ['ok', 'missing']])
})

test('a refused token ends with 1, and every provider prints its checks in order', async (t) => {
  const issuer = await issuing(t)
  const slash = { ...issuer.provider, name: 'slash', issuerUrl: `${issuer.url}/` }
  const token = await issuer.jwt({ aud: 'else', exp: Math.floor(Date.now() / 1000) - 90 })
  const { code, stdout } = await explain(t, registryOf(slash, issuer.provider), token)

  assert.equal(code, 1)
  assert.deepEqual(causesOf(stdout), [
    ['slash', 'foreign'],
    ['corp', 'claim:aud'],
  ])
  assert.match(finding(stdout, 'iss')[1], new RegExp(`differ at character ${issuer.url.length + 1},`))
  assert.deepEqual(finding(stdout, 'aud'), ['wrong', '"else", expected "registry"'])
  assert.match(finding(stdout, 'exp')[1], /^expired \d+ (?:s|min) ago$/)
  assert.deepEqual(finding(stdout, 'signature')[0], 'ok')
})

test('the kid of the token and those of the provider are printed', async (t) => {
  const issuer = await issuing(t)
  const { stdout } = await explain(t, registryOf(issuer.provider), await issuer.jwt({}, { kid: 'gone' }))
  assert.deepEqual(causesOf(stdout), [['corp', 'key']])
  assert.deepEqual(finding(stdout, 'kid'), ['wrong', '"gone", the provider has "first"'])
  assert.equal(finding(stdout, 'signature')[0], 'wrong')
})

test('a network failure is printed', async (t) => {
  const issuer = await issuing(t)
  const dead = { ...issuer.provider, issuerUrl: await closedPort() }
  const unreachable = await explain(t, registryOf(dead), await issuer.jwt({ iss: dead.issuerUrl }))
  assert.match(finding(unreachable.stdout, 'keys')[1], /nothing listens there/)

  const priv = { ...issuer.provider, allowPrivateIP: false }
  const refused = await explain(t, registryOf(priv), await issuer.jwt())
  // An address that is plainly private is a mistake of the file.
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /providers\[0\]\.allowPrivateIP .*private or loopback address/)
  issuer.metadata = { issuer: `${issuer.url}/` }
  const mismatch = await explain(t, registryOf(issuer.provider), await issuer.jwt())
  assert.deepEqual(causesOf(mismatch.stdout), [['corp', 'issuer']])
})

test('an opaque token is introspected, also in the scopes of a list of plugins', async (t) => {
  const issuer = await issuing(t)
  const entry = (each: Issuer, name: string) => ({
    use: 'auth/oidc',
    id: name,
    with: { ...each.provider, name, introspectionUrl: each.introspectionUrl },
  })
  const list = [listen, { use: 'discovery/issuer' }, { scope: '/inner', plugins: [entry(issuer, 'inside')] }]
  const { code, stdout } = await explain(t, list, issuer.opaque())
  assert.equal(code, 0, stdout)
  assert.match(stdout, /^\/inner:$/m)
  assert.deepEqual(causesOf(stdout), [['inside', 'accepts it']])
})

test('when introspection decides, the claims of the token are not judged', async (t) => {
  const issuer = await issuing(t)
  const { introspectionUrl, audience, url: iss } = issuer
  const provider = { type: 'auth/introspection', ...issuer.provider, introspectionUrl }
  const token = await issuer.jwt({ aud: undefined, exp: 1 })
  const exp = Math.floor(Date.now() / 1000) + 60
  issuer.setIntrospection(token, { active: true, iss, aud: audience, sub: 'ada', exp })
  const { code, stdout } = await explain(t, registryOf(provider), token)
  assert.equal(code, 0, stdout)
  assert.doesNotMatch(stdout, /^ +wrong /m)
})

test('the authenticators of outer scopes are printed before those of inner scopes', async (t) => {
  const issuer = await issuing(t)
  const entry = (name: string) => ({ use: 'auth/oidc', id: name, with: { ...issuer.provider, name } })
  const inner = { scope: '/inner', plugins: [entry('inside')] }
  const list = [
    listen,
    { use: 'discovery/issuer' },
    { scope: '/outer', plugins: [inner, entry('between')] },
    entry('outside'),
  ]
  const { stdout } = await explain(t, list, await issuer.jwt())
  assert.deepEqual(stdout.match(/^\/\S*(?=:$)/gm), ['/', '/outer', '/outer/inner'])
})

test('when keys cannot be fetched, checks that need them are not printed', async (t) => {
  const issuer = await issuing(t)
  const jwksUrl = `${await closedPort()}/keys`
  const { code, stdout } = await explain(t, registryOf({ ...issuer.provider, jwksUrl }), await issuer.jwt())
  assert.equal(code, 1)
  assert.doesNotMatch(stdout, /^ +\w+ +kid /m)
  assert.doesNotMatch(stdout, /does not hold/)
})

test('a wrong file, a wrong option and an empty token end with 2', async (t) => {
  const issuer = await issuing(t)
  const token = await issuer.jwt()
  assert.equal((await explain(t, { auth: {} }, token)).code, 2)
  const unknown = await explain(t, registryOf({ ...issuer.provider, audiance: 'x' }), token)
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /config\.json:\d+:\d+ auth\.oauth\.providers\[0\]\.audiance/)
  const missing = await explain(t, registryOf({ ...issuer.provider, caCertPath: '/nowhere/ca' }), token)
  assert.equal(missing.code, 2)
  assert.equal((await explain(t, registryOf(issuer.provider), '\n')).code, 2)
  assert.equal((await explain(t, registryOf(issuer.provider), 'not a token')).code, 1)
})

test("a third party's authenticator without `explain` gets the request as in the gateway", async (t) => {
  const text = (open: string, accepts: string): string => `
    import { Authenticator, definePlugin } from 'sallyport'
    export default definePlugin({ name: 'theirs', api: 1, provides: [Authenticator], setup: (gateway) =>
      gateway.provide(Authenticator, { provider: 'theirs', ${open} authenticate: ({ credentials, headers }) => ${accepts}
        ? { identity: { provider: 'theirs', subject: 'anybody', claims: {} } }
        : { rejection: { kind: 'notMine', cause: 'unknown' } } }) })`
  const asking = "credentials.token === 'good' && headers.authorization === 'Bearer good'"
  const home = folder(t, { 'open.mjs': text('open: true,', 'true'), 'asking.mjs': text('', asking) })
  const accepted = await explain(t, [{ use: join(home, 'open.mjs') }], 'any-token')
  assert.equal(accepted.code, 0, accepted.stdout + accepted.stderr)
  assert.deepEqual(finding(accepted.stdout, 'mode'), ['ok', 'no credentials are required'])
  for (const [token, code] of [
    ['good', 0],
    ['other', 1],
  ] as const) {
    const asked = await explain(t, [{ use: join(home, 'asking.mjs') }], token)
    assert.equal(asked.code, code, asked.stdout + asked.stderr)
  }
})

test('an authenticator that throws is named, and decides as in the gateway', async (t) => {
  const text = `
    import { Authenticator, definePlugin } from 'sallyport'
    export default definePlugin({ name: 'theirs', api: 1, provides: [Authenticator], setup: (gateway) =>
      gateway.provide(Authenticator, { provider: 'theirs', authenticate() { throw new Error('no luck') } }) })`
  const home = folder(t, { 'throwing.mjs': text })
  const open = { use: 'auth/anonymous' }
  const reported = await explain(t, [{ use: join(home, 'throwing.mjs') }, open], 'any-token')
  assert.equal(reported.code, 1)
  assert.match(reported.stdout, /1\. theirs: fails: no luck\n2\. anonymous: not asked\nthe token is refused/)
})
