import { Authenticator, ConfigError, definePlugin, PublicAddress, type Verdict } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'auth/anonymous',
  api: 1,
  summary: 'Accepts every caller: for development, or where another layer authenticates.',
  provides: [Authenticator],
  options: z.strictObject({
    public: z
      .boolean()
      .default(false)
      .describe('allow this plugin in a list with a tunnel, where anybody on the internet can connect'),
  }),

  setup(gateway, options) {
    const verdict: Verdict = { identity: { provider: 'anonymous', subject: 'anonymous', claims: {} } }
    gateway.provide(Authenticator, {
      provider: 'anonymous',
      open: true,
      authenticate: () => verdict,
      explain: async () => ({
        verdict,
        findings: [{ about: 'mode', holds: true, detail: 'no credentials are required' }],
      }),
    })
    const addresses = gateway.use(PublicAddress)
    gateway.onStart(() => {
      if (options.public || addresses().length === 0) return
      const message =
        'missing: through the tunnel of this list anybody on the internet could connect; use an authenticator that requires a token, or set `public: true`'
      throw new ConfigError([{ place: 'public', message }])
    })
  },
})
