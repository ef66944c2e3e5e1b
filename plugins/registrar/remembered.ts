import { ClientRegistrar, definePlugin, StateStore } from 'sallyport'
import { z } from 'zod'
import { RegisteredClients } from './registered-clients.js'

export default definePlugin({
  name: 'registrar/remembered',
  api: 1,
  summary: 'Uses a stored client that was registered at the same issuer before.',
  provides: [ClientRegistrar],
  requires: [StateStore],
  options: z.strictObject({}),

  setup(gateway) {
    const clients = new RegisteredClients(gateway.use(StateStore))
    gateway.provide(ClientRegistrar, {
      name: 'remembered',
      register: (request) => clients.find(request),
      forget: (client) => clients.forget(client),
    })
  },
})
