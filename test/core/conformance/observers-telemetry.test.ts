import { type Instrument, Telemetry } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

contractSuite('internal/metrics', () => ({
  list: [{ use: 'internal/server', with: { address: '127.0.0.1:0' } }, { use: 'internal/metrics' }],
}))

findsFaults(Telemetry, {
  'an instrument that may be made once only': {
    code: 'TELEMETRY_THROWS',
    make() {
      const made = new Set<string>()
      return {
        measure({ name }: Instrument) {
          if (made.has(name)) throw new Error(`${name} is there already`)
          made.add(name)
        },
      }
    },
  },
  'a measurement that is awaited': { code: 'TELEMETRY_ANSWERS', make: () => ({ measure: async () => {} }) },
})
