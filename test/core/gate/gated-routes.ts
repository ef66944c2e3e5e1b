import { Authenticator, Guard, Refusal } from 'sallyport'
import { plugin, providing } from '#kit/plugin.js'

/** Routes that need credentials, and one that needs none. */
export const routes = plugin('routes', ({ http }) => {
  http.get('/closed', () => 'closed')
  http.get('/open', { config: { public: true } }, () => 'open')
  http.get('/things/:name/parts', () => 'parts')
})

/** Admits requests with the token `good`. */
export const onlyGood = providing('only-good', Authenticator, {
  provider: 'good',
  authenticate: ({ credentials }) =>
    credentials.kind === 'bearer' && credentials.token === 'good'
      ? { identity: { provider: 'good', subject: 'me', claims: {} } }
      : { rejection: { kind: 'invalid', cause: 'signature' } },
})

/** Refuses requests with `X-Refused`. */
export const refusing = providing('refusing', Guard, ({ headers }) => {
  if (headers['x-refused'] !== undefined) throw new Refusal(403, 'REFUSED', 'not you')
})
