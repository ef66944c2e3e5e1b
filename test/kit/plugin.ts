import { definePlugin, type Gateway } from 'sallyport'

/** The entry of a plugin that does this in its set-up, whatever that returns. */
export const plugin = (name: string, setup: (gateway: Gateway) => unknown, more: object = {}) => ({
  use: definePlugin({ name, api: 1, setup: async (gateway) => void (await setup(gateway)), ...more }),
})

/** A route at `/` that needs credentials. */
export const closed = plugin('closed', ({ http }) => http.get('/', () => 'let in'))
