import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { errors, type GrantContext } from 'oidc-provider'
import { type RealGrant, realIssuer } from '#kit/oidc-provider.js'
import { send } from '../forward/proxied.js'
import { bearer, echo, exchange, gatewayOf, loginCredential } from './exchanging.js'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const TYPE = 'urn:ietf:params:oauth:token-type:'
const SIGN_IN = 'urn:example:sign-in'

/** Verifies the subject as the type says, and issues a token of the same person for the resource that was named. */
const exchangeGrant: RealGrant = {
  parameters: ['subject_token', 'subject_token_type', 'audience', 'resource', 'scope'],
  async handle(context) {
    const { subject_token: token = '', subject_token_type: type, resource = '', scope } = context.oidc.params
    if (!URL.canParse(resource)) throw new errors.InvalidTarget('no such resource')
    const subject = await verified(context, token, type === `${TYPE}id_token` ? 'JWT' : 'at+jwt').catch(
      () => {
        throw new errors.InvalidGrant('the subject token is not good')
      },
    )
    const access_token = await minted(context, { accountId: subject, scope }, resource)
    const issued_token_type = `${TYPE}access_token`
    context.body = { access_token, issued_token_type, token_type: 'Bearer', expires_in: 300, scope }
  },
}

/** A login of a user, without the browser. */
const signInGrant: RealGrant = {
  parameters: ['login'],
  async handle(context) {
    const { login } = context.oidc.params
    const { provider } = context.oidc
    const idToken = new provider.IdToken({ sub: login }, { ctx: context })
    idToken.scope = 'openid'
    const access_token = await minted(context, { accountId: login, scope: 'openid' }, 'urn:example:registry')
    context.body = { access_token, id_token: await idToken.issue({ use: 'idtoken' }), token_type: 'Bearer' }
  },
}

async function verified({ oidc: { provider } }: GrantContext, token: string, typ: string): Promise<string> {
  const keys = createRemoteJWKSet(new URL(`${provider.issuer}/jwks`))
  const { payload, protectedHeader } = await jwtVerify(token, keys, { issuer: provider.issuer })
  assert.equal(protectedHeader.typ ?? 'JWT', typ)
  return String(payload.sub)
}

function minted({ oidc }: GrantContext, fields: object, resource: string): Promise<string> {
  const { AccessToken, ResourceServer } = oidc.provider
  const token = new AccessToken({ ...fields, client: oidc.client, gty: 'exchange' })
  token.resourceServer = new ResourceServer(resource, {
    audience: resource,
    accessTokenTTL: 300,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: 'RS256' } },
    scope: 'read',
  })
  return token.save()
}

async function provider(t: TestContext) {
  const issuer = await realIssuer(t, { grants: { [EXCHANGE]: exchangeGrant, [SIGN_IN]: signInGrant } })
  const { url, audience } = issuer
  return {
    ...issuer,
    incoming: {
      use: 'auth/jwt',
      with: { name: 'real', issuerUrl: url, jwksUrl: `${url}/jwks`, audience, allowPrivateIP: true },
    },
    exchange: (options: object = {}) =>
      exchange(`${url}/token`, { ...issuer.client, resource: 'https://target.example/mcp', ...options }),
    claims: async (authorization: string | undefined) =>
      (
        await jwtVerify(
          authorization?.replace('Bearer ', '') ?? '',
          createRemoteJWKSet(new URL(`${url}/jwks`)),
        )
      ).payload,
  }
}

test("CL-25: oidc-provider exchanges a verified caller's token for one of the target's", async (t) => {
  const issuer = await provider(t)
  const target = await echo(t)
  const { main } = await gatewayOf(t, target.origin, [issuer.incoming, issuer.exchange({ scopes: ['read'] })])
  const mine = await issuer.token()

  assert.equal((await send(main, bearer(mine))).status, 200)
  const { aud, sub, scope } = await issuer.claims(target.seen[0]?.authorization)
  assert.deepEqual([aud, sub, scope], ['https://target.example/mcp', issuer.client.clientId, 'read'])
  assert.ok(!JSON.stringify(target.seen).includes(mine))
  assert.equal((await send(main, bearer(`${mine.slice(0, -8)}AAAAAAAA`))).status, 401)
  assert.equal(target.seen.length, 1)
})

test('CL-25: oidc-provider exchanges the ID token of a login, and does not accept an access token as one', async (t) => {
  const issuer = await provider(t)
  const target = await echo(t)
  const { access_token, id_token } = await issuer.granted({ grant_type: SIGN_IN, login: 'somebody' })
  const login = (idToken: unknown) =>
    loginCredential(() => ({
      header: 'authorization',
      value: `Bearer ${access_token}`,
      accessToken: String(access_token),
      idToken: String(idToken),
    }))
  const list = (idToken: unknown) => [
    { use: 'auth/anonymous' },
    login(idToken),
    issuer.exchange({ subjectTokenType: 'id_token' }),
  ]

  const { main } = await gatewayOf(t, target.origin, list(id_token))
  assert.equal((await send(main)).status, 200)
  const { aud, sub } = await issuer.claims(target.seen[0]?.authorization)
  assert.deepEqual([aud, sub], ['https://target.example/mcp', 'somebody'])

  const wrong = await gatewayOf(t, target.origin, list(access_token))
  assert.equal((await send(wrong.main)).status, 401)
  assert.equal(target.seen.length, 1)
})

test('CL-33: when oidc-provider refuses the client or the target, the caller gets a 502 and the log names the cause', async (t) => {
  const issuer = await provider(t)
  const target = await echo(t)
  const mine = await issuer.token()
  for (const [options, cause] of [
    [{ clientSecret: 'another' }, 'invalid_client'],
    [{ resource: undefined }, 'invalid_target'],
    [{ grantType: 'urn:example:unknown' }, 'unsupported_grant_type'],
  ] as const) {
    const { main, lines } = await gatewayOf(t, target.origin, [issuer.incoming, issuer.exchange(options)])
    assert.equal((await send(main, bearer(mine))).status, 502)
    assert.ok(lines.some((line) => line['cause'] === cause && line['level'] === 'error'))
  }
  assert.equal(target.seen.length, 0)
})
