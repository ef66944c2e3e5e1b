import { Authenticator, definePlugin, Guard, Refusal } from 'sallyport'

/** Routes that need credentials, and one that needs none. */
export const routes = definePlugin({
  name: 'routes',
  api: 1,
  setup({ http }) {
    http.get('/closed', () => 'closed')
    http.get('/open', { config: { public: true } }, () => 'open')
    http.get('/things/:name/parts', () => 'parts')
  },
})

/** Lets in whoever has the token `good`. */
export const onlyGood = definePlugin({
  name: 'only-good',
  api: 1,
  provides: [Authenticator],
  setup(gateway) {
    gateway.provide(Authenticator, {
      provider: 'good',
      authenticate: ({ credentials }) =>
        credentials.kind === 'bearer' && credentials.token === 'good'
          ? { identity: { provider: 'good', subject: 'me', claims: {} } }
          : { rejection: { kind: 'invalid', cause: 'signature' } },
    })
  },
})

/** Refuses whoever sends `X-Refused`. */
export const refusing = definePlugin({
  name: 'refusing',
  api: 1,
  provides: [Guard],
  setup(gateway) {
    gateway.provide(Guard, ({ headers }) => {
      if (headers['x-refused'] !== undefined) throw new Refusal(403, 'REFUSED', 'not you')
    })
  },
})
