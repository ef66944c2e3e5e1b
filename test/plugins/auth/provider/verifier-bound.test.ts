import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { type Issuer, issuing, protectedRoute, recordedLog } from 'sallyport/testing'
import { serving } from '#kit/booted.js'
import { plugin } from '#kit/plugin.js'
import { requestRaw } from '#kit/raw.js'
import { runs } from '#kit/runs.js'
import { type Authority, authority, type Identity, secureListener } from '#kit/tls.js'

const thumbprintOf = ({ cert }: Identity): string =>
  Buffer.from(new X509Certificate(cert).fingerprint256.replaceAll(':', ''), 'hex').toString('base64url')

const bound = (certificate: Identity) => ({ cnf: { 'x5t#S256': thumbprintOf(certificate) } })

/** Asks the same list without a socket, with the credentials of the request. */
const inside = plugin('inside', ({ http, dispatch }) => {
  http.get('/inside', { config: { public: true } }, async ({ headers }, reply) => {
    const { statusCode } = await dispatch({ url: '/closed', headers })
    return reply.code(statusCode).send('')
  })
})

async function gate(t: TestContext, issuer: Issuer, ours: Authority) {
  const { log, lines } = recordedLog()
  const { introspectionUrl } = issuer
  const running = await serving(
    t,
    [
      secureListener(t, ours, { tls: { clientCa: ours.file } }),
      { use: 'discovery/issuer' },
      { use: 'auth/oidc', with: { ...issuer.provider, introspectionUrl } },
      { use: protectedRoute },
      inside,
    ],
    { log },
  )
  const { main = '' } = running.addresses
  const status = async (
    token: string,
    certificate: Partial<Identity> = {},
    { path = '/closed', headers = [] as readonly string[] } = {},
  ) => {
    const sent = ['Host: a', `Authorization: Bearer ${token}`, ...headers]
    return (await requestRaw(main, `GET ${path}`, sent, certificate)).status
  }
  const causes = () => lines.filter(({ msg }) => msg === 'refused').map(({ cause }) => cause)
  return { status, causes }
}

for (const kind of ['jwt', 'opaque'] as const) {
  test(`RS-26: a token bound to a certificate is accepted with it alone: ${kind}`, async (t) => {
    const [issuer, ours] = [await issuing(t), authority(t)]
    const [mine, other] = [ours.issue(['mine.test']), ours.issue(['other.test'])]
    const { status, causes } = await gate(t, issuer, ours)
    const token = await issuer[kind](bound(mine))

    assert.equal(await status(token), 401, 'without a certificate')
    assert.equal(await status(token, other), 401, 'with another one')
    assert.equal(await status(token, mine), 200)
    assert.deepEqual(new Set(causes()), new Set(['claim:cnf']))
    // One that is not bound needs no certificate, and any will do.
    const free = await issuer[kind]()
    assert.deepEqual([await status(free), await status(free, other)], [200, 200])
  })

  test(`RS-24: attack: a cached bound token is refused on a connection without its certificate: ${kind}`, async (t) => {
    const [issuer, ours] = [await issuing(t), authority(t)]
    const [mine, other] = [ours.issue(['mine.test']), ours.issue(['other.test'])]
    const { status } = await gate(t, issuer, ours)
    const token = await issuer[kind](bound(mine))

    for (let round = 0; round < 3; round++) {
      assert.equal(await status(token, mine), 200)
      assert.equal(await status(token), 401)
      assert.equal(await status(token, other), 401)
      assert.equal(await status(token, mine, { path: '/inside' }), 401, 'in-process there is no certificate')
    }
    // A header in which a proxy that terminates TLS would pass the certificate: any client could write it.
    const thumbprint = thumbprintOf(mine)
    const pem = encodeURIComponent(mine.cert)
    const headers = [
      `X-SSL-Client-Cert: ${pem}`,
      `X-Client-Cert-Thumbprint: ${thumbprint}`,
      `X-Forwarded-Client-Cert: Hash=${Buffer.from(thumbprint, 'base64url').toString('hex')}`,
      `Client-Cert: :${Buffer.from(mine.cert).toString('base64')}:`,
      'X-Forwarded-Proto: https',
    ]
    assert.equal(await status(token, {}, { headers }), 401)
    // Many connections at once, during the verification and with the cached verdict.
    const fresh = await issuer[kind](bound(mine))
    const all = Array.from({ length: 12 }, (_, index) => status(fresh, [mine, other, {}][index % 3]))
    assert.deepEqual(
      await Promise.all(all),
      Array.from({ length: 12 }, (_, index) => (index % 3 === 0 ? 200 : 401)),
    )
  })
}

test('RS-24: the only accepted confirmation is this thumbprint; a DPoP confirmation stays refused', async (t) => {
  const [issuer, ours] = [await issuing(t), authority(t)]
  const mine = ours.issue(['mine.test'])
  const { status } = await gate(t, issuer, ours)
  const thumbprint = thumbprintOf(mine)
  const hex = Buffer.from(thumbprint, 'base64url').toString('hex')
  const wrong: readonly unknown[] = [
    { jkt: thumbprint },
    { 'x5t#S256': thumbprint, jkt: thumbprint },
    { 'x5t#S256': thumbprint, other: 1 },
    { 'x5t#s256': thumbprint },
    { 'x5t#S256': [thumbprint] },
    { 'x5t#S256': `${thumbprint}=` },
    { 'x5t#S256': hex },
    { 'x5t#S256': '' },
    [thumbprint],
    thumbprint,
    {},
    true,
  ]
  for (const cnf of wrong)
    assert.equal(await status(await issuer.jwt({ cnf }), mine), 401, JSON.stringify(cnf))
  assert.equal(await status(await issuer.jwt({ cnf: { 'x5t#S256': thumbprint } }), mine), 200)

  const near = fc.oneof(
    fc.string(),
    fc.nat(42).map((at) => thumbprint.slice(0, at) + thumbprint.slice(at + 1)),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(
        fc.constantFrom('x5t#S256', 'jkt', '__proto__', 'toString'),
        fc.oneof(near, fc.jsonValue()),
      ),
      async (cnf) => assert.equal(await status(await issuer.jwt({ cnf }), mine), 401),
    ),
    { numRuns: runs(30) },
  )
})
