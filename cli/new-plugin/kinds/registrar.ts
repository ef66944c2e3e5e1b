import type { Kind } from '../kind.js'
import { contract, head } from '../test-parts.js'

export const registrar: Kind = {
  source: `import { ClientRegistrar, definePlugin } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'NAME',
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
      name: 'NAME',
      async register({ issuer }) {
        const clientId = clients.get(issuer)
        // Nothing lets the next registrar of the list try.
        return clientId === undefined ? undefined : { issuer, clientId }
      },
    })
  },
})
`,

  test: `${head}import { ClientRegistrar, type RegistrationRequest } from 'sallyport'
import { booted, contractSuite } from 'sallyport/testing'

test('an issuer gets its own client, and another issuer none', async (t) => {
  const found: unknown[] = []
  const wanted = { metadata: {}, redirectUris: [], grantTypes: [], scopes: [], fetch }
  const asking = {
    name: 'asking',
    api: 1,
    setup(gateway: import('sallyport').Gateway) {
      const registrars = gateway.use(ClientRegistrar)
      const ask = async (request: RegistrationRequest) => {
        for (const registrar of registrars()) found.push((await registrar.register(request))?.clientId)
      }
      gateway.onStart(async () => {
        await ask({ ...wanted, issuer: 'https://idp.example' })
        await ask({ ...wanted, issuer: 'https://idp.example/' })
      })
    },
  }
  await booted(t, [{ use: plugin, with: { clients: { 'https://idp.example': 'mine' } } }, { use: asking }])
  assert.deepEqual(found, ['mine', undefined])
})
${contract("{ clients: { 'https://one.example': 'mine' } }")}`,
}
