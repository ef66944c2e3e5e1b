import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ConfigError } from 'sallyport'
import { authenticatorSuite, booted, issuing } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { authority } from '#kit/tls.js'
import { gate, sentTo } from './provider/provider-gate.js'

authenticatorSuite('auth/kubernetes', async (t) => {
  const issuer = await issuing(t)
  const { file: caCertPath } = authority(t)
  const authTokenFile = join(folder(t), 'token')
  writeFileSync(authTokenFile, await issuer.jwt(), { mode: 0o600 })
  return {
    provider: issuer.url,
    audience: issuer.audience,
    entries: (issuerUrl) => [
      {
        use: 'auth/kubernetes',
        with: {
          name: 'cluster',
          audience: issuer.audience,
          issuerUrl,
          jwksUrl: `${issuerUrl}/jwks`,
          authTokenFile,
          caCertPath,
        },
      },
    ],
    token: (claims) => issuer.jwt(claims),
  }
})

test('auth/kubernetes takes the issuer from the mounted token, and sends that token for the keys', async (t) => {
  const ca = authority(t)
  const issuer = await issuing(t, { tls: ca.issue(['localhost']) })
  const mounted = await issuer.jwt({ sub: 'system:serviceaccount:here:gateway' })
  const authTokenFile = join(folder(t, { token: mounted }), 'token')
  const jwksUrl = `${issuer.origin}/jwks`
  const options = { audience: issuer.audience, jwksUrl, authTokenFile, caCertPath: ca.file }
  const { status } = await gate(t, options, 'auth/kubernetes')
  const claims = { sub: 'system:serviceaccount:there:client', 'kubernetes.io': { namespace: 'there' } }

  assert.equal(await status(await issuer.jwt({ ...claims, aud: [issuer.audience] })), 200)
  assert.equal(await status(await issuer.jwt({ ...claims, iss: 'https://kubernetes.default.svc' })), 401)
  assert.deepEqual(sentTo(issuer, '/jwks'), [`Bearer ${mounted}`])
})

async function problemsOf(t: TestContext, use: string, options: Readonly<Record<string, unknown>>) {
  const error = await booted(t, [{ use, with: options }]).then(
    () => assert.fail('it should not have started'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof ConfigError, String(error))
  return error.problems.map(({ place }) => place.split(' ').at(-1))
}

test('auth/kubernetes needs only an audience: outside a cluster the mounted files are missing', async (t) => {
  assert.deepEqual(await problemsOf(t, 'auth/kubernetes', { audience: 'registry' }), [
    'caCertPath',
    'authTokenFile',
  ])
})
