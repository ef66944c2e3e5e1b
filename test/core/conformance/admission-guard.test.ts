import { Guard } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

contractSuite('guard/origin', () => ({ list: [{ use: 'guard/origin', with: { allowed: [] } }] }))

findsFaults(Guard, {
  'a guard that reads a missing header': {
    code: 'GUARD_THROWS',
    make: () => (request: { headers: { origin: string } }) => void request.headers.origin.length,
  },
  'a guard that rejects with an unknown error': {
    code: 'GUARD_THROWS',
    make: () => async () => Promise.reject(new Error('no')),
  },
  'a guard that adds a header': {
    code: 'REQUEST_CHANGED',
    make: () => (request: { headers: Record<string, string> }) => {
      request.headers['x-seen'] = 'yes'
    },
  },
})
