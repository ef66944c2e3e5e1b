import { Authenticator, ConfigError, definePlugin, PublicAddress, type Verdict } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'auth/anonymous',
  api: 1,
  summary: 'Lets everybody in: for development, or where another layer has checked already.',
  provides: [Authenticator],
  options: z.strictObject({
    public: z
      .boolean()
      .default(false)
      .describe("let in the whole internet too, by the list's tunnel; such a list is refused otherwise"),
  }),

  setup(gateway, options) {
    const verdict: Verdict = { identity: { provider: 'anonymous', subject: 'anonymous', claims: {} } }
    gateway.provide(Authenticator, {
      provider: 'anonymous',
      authenticate: () => verdict,
      explain: async () => ({
        verdict,
        findings: [{ about: 'mode', holds: true, detail: 'nobody is asked for credentials' }],
      }),
    })
    const addresses = gateway.use(PublicAddress)
    gateway.onStart(() => {
      if (options.public || addresses().length === 0) return
      const message =
        'missing: the tunnel of this list would let the whole internet in; put an authenticator that asks for a token here, or say `public: true`'
      throw new ConfigError([{ place: 'public', message }])
    })
    gateway.onReady(() => gateway.log.warn('nobody is asked for credentials here'))
  },
})
