import type { FastifyRequest } from 'fastify'
import { Credential, type OutgoingCredential } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

const providing = (more: object): unknown => ({
  name: 'c',
  present: () => ({ header: 'x-api-key', value: 'key' }),
  ...more,
})
const presenting = (credential: object): unknown =>
  providing({ present: () => ({ header: 'x-api-key', value: 'key', ...credential }) })

contractSuite('credential/static-bearer', () => ({
  list: [{ use: 'credential/static-bearer', with: { token: 'a-token' } }],
}))

findsFaults(Credential, {
  'a credential without a name': { code: 'CREDENTIAL_UNNAMED', make: () => providing({ name: '' }) },
  'a deadline of 0': { code: 'DEADLINE_MALFORMED', make: () => providing({ deadline: 0 }) },
  'an error that is no GatewayError': {
    code: 'CREDENTIAL_THROWS',
    make: () => providing({ present: () => Promise.reject(new Error('no token')) }),
  },
  'a header in capitals': { code: 'CREDENTIAL_MALFORMED', make: () => presenting({ header: 'X-Api-Key' }) },
  'a value of two lines': { code: 'CREDENTIAL_MALFORMED', make: () => presenting({ value: 'a\nb' }) },
  'an expiry in milliseconds': {
    code: 'CREDENTIAL_MALFORMED',
    make: () => presenting({ expiresAt: Date.now() }),
  },
  'writing to the credential before it': {
    code: 'HELD_CHANGED',
    make: () =>
      providing({
        present: (_request: FastifyRequest, held?: OutgoingCredential) =>
          held && Object.assign(held, { value: `${held.value}!` }),
      }),
  },
  'a `renew` that returns a text': {
    code: 'RENEW_MALFORMED',
    make: () => providing({ renew: () => 'yes' }),
  },
  'adding a header to the request of the caller': {
    code: 'REQUEST_CHANGED',
    make: () =>
      providing({
        present: ({ headers }: FastifyRequest) => void Object.assign(headers, { 'x-api-key': 'key' }),
      }),
  },
})
