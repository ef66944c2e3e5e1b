import { Health } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

contractSuite('credential/token-exchange', () => ({
  list: [
    { use: 'credential/static-bearer', with: { token: 'a-token' } },
    { use: 'credential/token-exchange', with: { url: 'https://idp.example/token', clientId: 'gateway' } },
  ],
}))

findsFaults(Health, {
  'a health without a name': {
    code: 'HEALTH_UNNAMED',
    make: () => ({ name: '', check: () => ({ status: 'ok' }) }),
  },
  'a health that throws': {
    code: 'HEALTH_THROWS',
    make: () => ({
      name: 'h',
      check: () => {
        throw new Error('down')
      },
    }),
  },
  'a health that waits for a response': {
    code: 'HEALTH_MALFORMED',
    make: () => ({ name: 'h', check: async () => ({ status: 'ok' }) }),
  },
  'a health that is down without a reason': {
    code: 'HEALTH_MALFORMED',
    make: () => ({ name: 'h', check: () => ({ status: 'down' }) }),
  },
})
