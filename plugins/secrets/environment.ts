import { definePlugin, SecretStore } from 'sallyport'
import { variableOf } from './variable.js'

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
