import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { ConfigError, definePlugin, type Login, LoginProvider, UpstreamError } from 'sallyport'
import { duration, secretFrom, secretText, webUrl } from 'sallyport/toolkit'
import { z } from 'zod'

const random = (): string => randomBytes(24).toString('base64url')

export default definePlugin({
  name: 'my-login',
  api: 1,
  version: '0.1.0',
  summary: 'Signs people in at a Discourse forum, by DiscourseConnect.',
  provides: [LoginProvider],
  options: z.strictObject({
    url: webUrl().meta({ description: 'the forum', examples: ['https://forum.example.com'] }),
    secret: secretText().optional().describe('the secret that the forum shares with it; a file is safer'),
    secretFile: z.string().min(1).optional().describe('file that holds the secret'),
    lasts: duration()
      .default(8 * 3_600_000)
      .describe('how long a sign-in is good: the forum cannot be asked about a person again'),
  }),

  setup(gateway, { url, secret: value, secretFile, lasts }) {
    const { log, scrubber } = gateway
    const secret = secretFrom({ value, file: gateway.path(secretFile) }, { log, scrubber })
    if (secret === undefined) {
      const message = 'expected a file that holds the secret, or secret'
      throw new ConfigError([{ place: 'secretFile', message }])
    }
    gateway.onStop(() => secret.close())
    const signatureOf = (text: string) => createHmac('sha256', secret.reveal()).update(text).digest()

    /** The statements of the forum in an answer, after a check of their signature. */
    function signed(answer: string): URLSearchParams {
      const query = new URLSearchParams(answer)
      const payload = query.get('sso') ?? ''
      const [given, own] = [Buffer.from(query.get('sig') ?? '', 'hex'), signatureOf(payload)]
      if (given.length !== own.length || !timingSafeEqual(given, own)) throw foreign()
      return new URLSearchParams(Buffer.from(payload, 'base64').toString())
    }

    /** The answer is stored as the access token: its signature and its nonce, which has the time, prove the sign-in. */
    function loginIn(answer: string): Login {
      const said = signed(answer)
      const subject = said.get('external_id')
      // A request has the same kind of signature: without a person it is not an answer.
      if (subject === null || subject === '') throw foreign()
      const [begunAt = ''] = said.get('nonce')?.split('.') ?? []
      const claims = {
        name: said.get('name') ?? said.get('username') ?? subject,
        email: said.get('email'),
        groups: (said.get('groups') ?? '').split(',').filter((group) => group !== ''),
      }
      return { subject, claims, tokens: { access: answer, expiresAt: Number(begunAt) + lasts } }
    }

    gateway.provide(LoginProvider, {
      idp: url,
      name: new URL(url).host,
      // Most forums register every visitor, so the operator has to name the people who may sign in.
      accountsOf: 'everybody',
      async begin(redirectUri) {
        const [state, nonce] = [random(), `${Date.now()}.${random()}`]
        const back = new URL(redirectUri)
        back.searchParams.set('state', state)
        const wanted = new URLSearchParams({ nonce, return_sso_url: back.href })
        const payload = Buffer.from(wanted.toString()).toString('base64')
        const page = new URL('/session/sso_provider', url)
        page.search = `${new URLSearchParams({ sso: payload, sig: signatureOf(payload).toString('hex') })}`
        return { url: page.href, state, checks: JSON.stringify({ state, nonce }) }
      },
      async finish(query, checks) {
        const begun = z.object({ state: z.string(), nonce: z.string() }).parse(JSON.parse(checks))
        if (new URLSearchParams(query).get('state') !== begun.state) throw foreign()
        const login = loginIn(query)
        if (signed(query).get('nonce') !== begun.nonce) throw foreign()
        return login
      },
      async refresh({ subject, tokens }) {
        try {
          const login = loginIn(tokens.access)
          const isOver = !(Date.now() < (login.tokens.expiresAt ?? 0))
          return isOver || login.subject !== subject ? 'ended' : login
        } catch {
          return 'ended'
        }
      },
    })
  },
})

const foreign = (): UpstreamError =>
  new UpstreamError('SIGN_IN_FOREIGN', 'the answer is none of the forum to this sign-in')
