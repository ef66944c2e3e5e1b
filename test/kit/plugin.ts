import { definePlugin, type Gateway, type Many, type One } from 'sallyport'

/** The entry of a plugin that does this in its set-up, whatever that returns. */
export const plugin = (name: string, setup: (gateway: Gateway) => unknown, more: object = {}) => ({
  use: definePlugin({ name, api: 1, setup: async (gateway) => void (await setup(gateway)), ...more }),
})

/** The entry of a plugin that provides this, and does nothing else. */
export const providing = <T>(name: string, capability: One<T> | Many<T>, value: NoInfer<T>) =>
  plugin(name, (gateway) => gateway.provide(capability, value), { provides: [capability] })

/** The main port: a free one of loopback. */
export const listen = { use: 'listen/http', with: { address: '127.0.0.1:0' } }

/** A route at `/` that needs credentials. */
export const closed = plugin('closed', ({ http }) => http.get('/', () => 'let in'))
