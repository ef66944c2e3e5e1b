import { Authenticator, definePlugin, type Verdict } from 'sallyport'

export default definePlugin({
  name: 'auth/anonymous',
  api: 1,
  summary: 'Lets everybody in: for development, or where another layer has checked already.',
  provides: [Authenticator],

  setup(gateway) {
    const verdict: Verdict = { identity: { provider: 'anonymous', subject: 'anonymous', claims: {} } }
    gateway.provide(Authenticator, {
      provider: 'anonymous',
      authenticate: () => verdict,
      explain: async () => ({
        verdict,
        findings: [{ about: 'mode', holds: true, detail: 'nobody is asked for credentials' }],
      }),
    })
    gateway.onReady(() => gateway.log.warn('nobody is asked for credentials here'))
  },
})
