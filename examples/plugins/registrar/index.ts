import { ClientRegistrar, definePlugin } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'my-registrar',
  api: 1,
  version: '0.1.0',
  summary: 'Signs in with the client that a table names for the issuer.',
  provides: [ClientRegistrar],
  options: z.strictObject({
    clients: z.record(z.url(), z.string().min(1)).default({}).describe('client IDs by their issuer'),
  }),

  setup(gateway, options) {
    // The issuer byte for byte: what belongs to one is never shown to another.
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
