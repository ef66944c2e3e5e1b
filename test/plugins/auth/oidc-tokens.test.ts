import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { booted, type Issuer, issuing, protectedRoute } from 'sallyport/testing'
import { runs } from '#kit/runs.js'

async function statusFor(t: TestContext, issuer: Issuer) {
  const { introspectionUrl } = issuer
  const list = [
    { use: 'discovery/issuer' },
    { use: 'auth/oidc', with: { ...issuer.provider, introspectionUrl } },
    { use: protectedRoute },
  ]
  const app = await booted(t, list)
  return async (authorization: string) =>
    (await app.inject({ url: '/closed', headers: { authorization } })).statusCode
}

const encoded = (text: string) => Buffer.from(text).toString('base64url')
const part = fc.oneof(
  fc.json().map(encoded),
  fc
    .dictionary(
      fc.constantFrom('alg', 'typ', 'kid', 'crit', 'iss', 'aud', 'exp', '__proto__', 'cnf'),
      fc.jsonValue(),
    )
    .map((value) => encoded(JSON.stringify(value))),
  fc.stringMatching(/^[\w.~+/-]{0,80}={0,2}$/),
  fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64url')),
)

test('RS-05: any text sent as a token gets a 401, and causes no other error', async (t) => {
  const issuer = await issuing(t)
  const knock = await statusFor(t, issuer)
  const ours = encoded(JSON.stringify({ iss: issuer.url, aud: issuer.audience, exp: 9_999_999_999 }))

  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(part, fc.constant(ours)), { minLength: 1, maxLength: 6 }),
      async (parts) => {
        assert.equal(await knock(`Bearer ${parts.join('.')}`), 401)
      },
    ),
    { numRuns: runs(500) },
  )
})

test('RS-07: the gateway accepts only Bearer, one space and one token of the allowed characters', async (t) => {
  const issuer = await issuing(t)
  const knock = await statusFor(t, issuer)
  const good = await issuer.jwt()
  const scheme = fc.constantFrom('Bearer', 'bearer', 'BEARER', 'bEaReR', 'Basic', 'DPoP', 'Bearer:', '')
  const gap = fc.constantFrom(' ', ' ', '  ', '\t', '', ', ', ' \t')
  const token = fc.constantFrom(
    good,
    good,
    `"${good}"`,
    `${good},${good}`,
    `${good} `,
    `${good}\t`,
    `${good} x`,
    `${good};`,
    '',
  )

  await fc.assert(
    fc.asyncProperty(scheme, gap, token, async (how, between, what) => {
      const header = how + between + what
      // The field value is what is left without the blanks around it (RFC 9110, 5.5).
      const isWellFormed = /^bearer [^ \t",;]+$/i.test(header.trim()) && what.trim() === good
      assert.equal(await knock(header.trim()), isWellFormed ? 200 : 401, JSON.stringify(header.slice(0, 30)))
    }),
    { numRuns: runs(200) },
  )
})

/** Each claim with valid and invalid values, from which a model derives the verdict. */
const claims = (issuer: Issuer, now: number) =>
  fc.record({
    iss: fc.constantFrom<readonly [unknown, boolean]>(
      [issuer.url, true],
      [`${issuer.url}/`, false],
      [[issuer.url], false],
    ),
    aud: fc.constantFrom<readonly [unknown, boolean]>(
      [issuer.audience, true],
      [['x', issuer.audience], true],
      ['x', false],
      [[], false],
      [undefined, false],
    ),
    exp: fc.constantFrom<readonly [unknown, boolean]>(
      [now + 600, true],
      [now - 600, false],
      [String(now + 600), false],
      [undefined, false],
      [null, false],
    ),
    nbf: fc.constantFrom<readonly [unknown, boolean]>(
      [undefined, true],
      [now - 600, true],
      [now + 600, false],
      ['', false],
    ),
    iat: fc.constantFrom<readonly [unknown, boolean]>([undefined, true], [now, true], [now + 600, false]),
    cnf: fc.constantFrom<readonly [unknown, boolean]>([undefined, true], [{ jkt: 'x' }, false]),
    sub: fc.jsonValue().map((value) => [value, true] as const),
  })

test('RS-17: a JWT and an opaque token with the same claims get the verdict of the model', async (t) => {
  const issuer = await issuing(t)
  const knock = await statusFor(t, issuer)
  await fc.assert(
    fc.asyncProperty(claims(issuer, Math.floor(Date.now() / 1000)), async (chosen) => {
      const written = Object.fromEntries(Object.entries(chosen).map(([name, [value]]) => [name, value]))
      const holds = Object.values(chosen).every(([, good]) => good)
      assert.equal(await knock(`Bearer ${await issuer.jwt(written)}`), holds ? 200 : 401)
      // Introspection may leave out `exp` (RFC 7662, 2.2).
      const opaque =
        holds ||
        Object.entries(chosen).every(
          ([name, [value, good]]) => good || (name === 'exp' && value === undefined),
        )
      assert.equal(await knock(`Bearer ${issuer.opaque(written)}`), opaque ? 200 : 401)
    }),
    { numRuns: runs(400) },
  )
})
