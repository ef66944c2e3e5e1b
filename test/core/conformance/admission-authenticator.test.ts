import type { FastifyRequest } from 'fastify'
import { Authenticator } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

const invalid = { rejection: { kind: 'invalid', cause: 'unknown' } }
const somebody = { identity: { provider: 'p', subject: 's', claims: {} } }
const providing = (more: object): unknown => ({ provider: 'p', authenticate: () => invalid, ...more })
const bearerOf = ({ credentials }: FastifyRequest): string | undefined =>
  credentials.kind === 'bearer' ? credentials.token : undefined
const finding = { about: 'token', holds: false, detail: 'unknown' }

contractSuite('auth/anonymous', () => ({ list: [{ use: 'auth/anonymous' }] }))

findsFaults(Authenticator, {
  'an empty provider': { code: 'AUTHENTICATOR_UNNAMED', make: () => providing({ provider: '' }) },
  'an error for a token that cannot be read': {
    code: 'AUTHENTICATOR_THROWS',
    make: () =>
      providing({
        authenticate(request: FastifyRequest) {
          JSON.parse(bearerOf(request) ?? '{}')
          return invalid
        },
      }),
  },
  'a verdict without a kind': {
    code: 'VERDICT_MALFORMED',
    make: () => providing({ authenticate: () => ({ rejection: { cause: 'x' } }) }),
  },
  'a verdict that is undefined': {
    code: 'VERDICT_MALFORMED',
    make: () => providing({ authenticate: () => undefined }),
  },
  'accepting any token': {
    code: 'AUTHENTICATOR_LAX',
    make: () =>
      providing({ authenticate: (request: FastifyRequest) => (bearerOf(request) ? somebody : invalid) }),
  },
  'accepting without a token': {
    code: 'AUTHENTICATOR_LAX',
    make: () =>
      providing({ authenticate: (request: FastifyRequest) => (bearerOf(request) ? invalid : somebody) }),
  },
  'accepting every request while `open` is a text': {
    code: 'AUTHENTICATOR_LAX',
    make: () => providing({ open: 'true', authenticate: () => somebody }),
  },
  'being open and refusing a request without a token': {
    code: 'OPEN_REJECTS',
    make: () => providing({ open: true }),
  },
  'quoting the token': {
    code: 'REJECTION_TELLS',
    make: () =>
      providing({
        authenticate: (request: FastifyRequest) => ({
          rejection: { kind: 'busy', cause: 'x', detail: `not ${bearerOf(request)}` },
        }),
      }),
  },
  'removing the header': {
    code: 'REQUEST_CHANGED',
    make: () =>
      providing({
        authenticate({ headers }: FastifyRequest) {
          delete headers.authorization
          return invalid
        },
      }),
  },
  'refusing the valid token': {
    code: 'TOKEN_REFUSED',
    make: () => providing({}),
    fixtures: { token: 'open-sesame' },
  },
  'explaining an acceptance of every token': {
    code: 'EXPLANATION_WRONG',
    make: () => providing({ explain: async () => ({ verdict: somebody, findings: [finding] }) }),
  },
  'explaining without findings': {
    code: 'EXPLANATION_WRONG',
    make: () => providing({ explain: async () => ({ verdict: invalid }) }),
  },
})
