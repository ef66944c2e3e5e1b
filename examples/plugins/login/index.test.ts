import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { definePlugin, LoginProvider } from 'sallyport'
import { booted, contractSuite, fakeClock } from 'sallyport/testing'
import plugin from './index.js'

const options = { url: 'https://forum.example.com', secret: 'shared-with-the-forum' }
const redirectUri = 'https://mcp.example.com/oauth/callback'

/** Where the forum sends the browser of a member. */
async function signIn(page: string): Promise<string> {
  const asked = Buffer.from(new URL(page).searchParams.get('sso') ?? '', 'base64').toString()
  const { nonce = '', return_sso_url: back = '' } = Object.fromEntries(new URLSearchParams(asked))
  const member = {
    nonce,
    external_id: '42',
    username: 'alice',
    email: 'a@example.com',
    groups: 'staff,users',
  }
  const payload = Buffer.from(new URLSearchParams(member).toString()).toString('base64')
  const signature = createHmac('sha256', options.secret).update(payload).digest('hex')
  const url = new URL(back)
  url.searchParams.set('sso', payload)
  url.searchParams.set('sig', signature)
  return url.search
}

test('a member of the forum signs in, with groups, until the time is over', async (t) => {
  const clock = fakeClock(t)
  let login: (() => LoginProvider) | undefined
  const asking = definePlugin({
    name: 'asking',
    api: 1,
    requires: [LoginProvider],
    setup(gateway) {
      login = gateway.use(LoginProvider)
    },
  })
  await booted(t, [{ use: plugin, with: { ...options, lasts: '1h' } }, { use: asking }])
  const provider = (login as unknown as () => LoginProvider)()

  const { url, checks } = await provider.begin(redirectUri)
  const member = await provider.finish(await signIn(url), checks, redirectUri)
  assert.deepEqual(
    [member.subject, member.claims],
    ['42', { name: 'alice', email: 'a@example.com', groups: ['staff', 'users'] }],
  )
  assert.deepEqual(await provider.refresh(member), member)
  await clock.advance(3_600_000)
  assert.equal(await provider.refresh(member), 'ended')
})

contractSuite('my-login', () => ({
  list: [{ use: plugin, with: options }],
  fixtures: { person: { redirectUri, signIn } },
}))
