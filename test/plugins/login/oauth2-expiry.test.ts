import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LoginProvider, LoginProvider as Provided } from 'sallyport'
import { booted } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { plugin } from '#kit/plugin.js'

test('a login without an expiry of the provider has none, and one with an expiry has that', async (t) => {
  const redirectUri = 'https://gateway.example/oauth/callback'
  const fields: { expires_in?: number } = {}
  const origin = await listening(t, (request, response) => {
    const body = request.url === '/user' ? { id: 7 } : { access_token: 'a', token_type: 'bearer', ...fields }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  const found: { login?: () => LoginProvider } = {}
  await booted(t, [
    { use: 'auth/anonymous' },
    {
      use: 'login/oauth2',
      with: {
        authorizeUrl: `${origin}/authorize`,
        tokenUrl: `${origin}/token`,
        userUrl: `${origin}/user`,
        subject: 'id',
        clientId: 'gateway',
        allowPrivateIP: true,
      },
    },
    plugin(
      'taking',
      (gateway) => {
        found.login = gateway.use(Provided)
      },
      { requires: [Provided] },
    ),
  ])
  const signedIn = async () => {
    const begun = await found.login?.().begin(redirectUri)
    const query = new URLSearchParams({ code: 'c', state: begun?.state ?? '' })
    return found.login?.().finish(`?${query}`, begun?.checks ?? '', redirectUri)
  }

  const without = await signedIn()
  assert.deepEqual([without?.subject, without?.tokens.expiresAt], ['7', undefined])
  fields.expires_in = 600
  const { expiresAt = 0 } = (await signedIn())?.tokens ?? {}
  assert.ok(Math.abs(expiresAt - Date.now() - 600_000) < 5_000)
})
