import { ClientRegistrar, definePlugin } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'my-registrar',
  api: 1,
  version: '0.1.0',
  summary: 'Signs in with the client ID that a table has for the issuer.',
  provides: [ClientRegistrar],
  options: z.strictObject({
    clients: z.record(z.url(), z.string().min(1)).default({}).describe('client IDs by their issuer'),
  }),

  setup(gateway, options) {
    // Compared byte for byte: no issuer may see the client ID of another.
    const clients = new Map(Object.entries(options.clients))
    gateway.provide(ClientRegistrar, {
      name: 'my-registrar',
      async register({ issuer }) {
        const clientId = clients.get(issuer)
        // `undefined` lets the next registrar of the list try.
        return clientId === undefined ? undefined : { issuer, clientId }
      },
    })
  },
})
