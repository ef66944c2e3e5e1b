import { definePlugin, SecretStore } from 'sallyport'

export default definePlugin({
  name: 'secrets/environment',
  api: 1,
  summary: 'Reads secrets from the environment: `my-key` from `SALLYPORT_SECRET_MY_KEY`.',
  provides: [SecretStore],

  setup(gateway) {
    gateway.provide(SecretStore, {
      name: 'environment',
      get(name) {
        const value = process.env[variableOf(name)]
        return value === '' ? undefined : value
      },
    })
  },
})

/** The environment variable that holds a secret: `my-key` is `SALLYPORT_SECRET_MY_KEY`. */
const variableOf = (name: string): string =>
  `SALLYPORT_SECRET_${name.toUpperCase().replaceAll(/[^A-Z\d]/g, '_')}`
