import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Instrument, type Labels, Telemetry } from 'sallyport'
import { authenticatorSuite, booted, issuing, protectedRoute } from 'sallyport/testing'
import { providing } from '#kit/plugin.js'

for (const [kind, form] of [
  ['a JWT', 'jwt'],
  ['an opaque token', 'opaque'],
] as const)
  authenticatorSuite(`auth/oidc with ${kind}`, async (t) => {
    const issuer = await issuing(t)
    return {
      provider: issuer.url,
      audience: issuer.audience,
      entries: (issuerUrl) => [
        {
          use: 'auth/oidc',
          with: { ...issuer.provider, issuerUrl, introspectionUrl: `${issuerUrl}/introspect` },
        },
      ],
      token: (claims) => issuer[form](claims),
    }
  })

test('metrics count key fetches, introspections, cached tokens and refusals, by provider and cause', async (t) => {
  const issuer = await issuing(t)
  const { introspectionUrl } = issuer
  const counts = new Map<string, number>()
  const counting = providing('counting', Telemetry, {
    measure: ({ name }: Instrument, value: number, labels: Labels) => {
      const key = [name.replace('sallyport_', ''), ...Object.values(labels)].join(' ')
      counts.set(key, (counts.get(key) ?? 0) + value)
    },
  })
  const list = [
    { use: 'discovery/issuer' },
    { use: 'auth/oidc', with: { ...issuer.provider, introspectionUrl } },
    { use: protectedRoute },
    counting,
  ]
  const app = await booted(t, list)
  const [jwt, opaque] = [await issuer.jwt(), issuer.opaque()]
  for (const token of [jwt, jwt, jwt, opaque, opaque, 'made-up', await issuer.jwt({ aud: 'x' })]) {
    await app.inject({ url: '/closed', headers: { authorization: `Bearer ${token}` } })
  }
  assert.equal(counts.get('key_fetches_total corp ok'), 1)
  assert.equal(counts.get('remembered_tokens_total corp'), 3)
  assert.equal(counts.get('introspections_total corp active'), 1)
  assert.equal(counts.get('introspections_total corp inactive'), 1)
  assert.equal(counts.get('refusals_total corp claim:aud'), 1)
  assert.equal(counts.get('refusals_total corp inactive'), 1)
  // A label that callers choose would leak memory and tokens.
  assert.ok([...counts.keys()].every((key) => !key.includes('made-up')))
})
