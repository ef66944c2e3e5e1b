import { definePlugin, type Gateway, type Many, type One } from 'sallyport'
import { openPassage, type Passage } from 'sallyport/toolkit'

/** The entry of a plugin with this `setup`. */
export const plugin = (name: string, setup: (gateway: Gateway) => unknown, more: object = {}) => ({
  use: definePlugin({ name, api: 1, setup: async (gateway) => void (await setup(gateway)), ...more }),
})

/** The entry of a plugin whose routes forward to an MCP server. */
export const mcpPlugin = (name: string, setup: (gateway: Gateway, passage: Passage) => unknown) =>
  plugin(name, (gateway) => setup(gateway, openPassage(gateway)))

/** The entry of a plugin that only provides this value of a capability. */
export const providing = <T>(name: string, capability: One<T> | Many<T>, value: NoInfer<T>) =>
  plugin(name, (gateway) => gateway.provide(capability, value), { provides: [capability] })

/** The main listener, on a free port of loopback. */
export const listen = { use: 'listen/http', with: { address: '127.0.0.1:0' } }

/** A route at `/` that needs credentials. */
export const closed = plugin('closed', ({ http }) => http.get('/', () => 'let in'))
