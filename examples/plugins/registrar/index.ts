import { ClientRegistrar, definePlugin } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'my-registrar',
  api: 1,
  version: '0.1.0',
  summary: 'Finds the client for an issuer in a table.',
  provides: [ClientRegistrar],
  options: z.strictObject({
    clients: z.record(z.url(), z.string().min(1)).default({}).describe('client IDs by their issuer'),
  }),

  setup(gateway, options) {
    // Compares the issuer byte for byte: no issuer gets the client of another.
    const clients = new Map(Object.entries(options.clients))
    gateway.provide(ClientRegistrar, {
      name: 'my-registrar',
      async register({ issuer }) {
        const clientId = clients.get(issuer)
        // After `undefined` the gateway calls the next registrar of the list.
        return clientId === undefined ? undefined : { issuer, clientId }
      },
    })
  },
})
