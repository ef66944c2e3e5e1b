import type { FastifyRequest } from 'fastify'
import { Challenge, type Refusal } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

contractSuite('discovery/resource', () => ({
  list: [
    { use: 'discovery/resource', with: { resource: 'https://a.example/mcp', scopes: ['read', 'write'] } },
  ],
}))

const providing = (header: unknown, more: object = {}): unknown => ({ header, ...more })
const bearer = (): string => 'Bearer realm="mcp"'

findsFaults(Challenge, {
  'a table of codes without one of them': {
    code: 'CHALLENGE_THROWS',
    make: () => {
      const known: Record<string, string> = { UNAUTHORIZED: 'Bearer', INVALID_TOKEN: 'Bearer error="x"' }
      return providing(
        ({ code }: Refusal) => String(known[code]).replace('undefined', '') || Object(known[code]).at(0),
      )
    },
  },
  'quotes that are not escaped': {
    code: 'CHALLENGE_MALFORMED',
    make: () => providing(({ message }: Refusal) => `Bearer error="${message.replace(/[^ -~]/g, '?')}"`),
  },
  'a line break of a message': {
    code: 'CHALLENGE_MALFORMED',
    make: () =>
      providing(({ message }: Refusal) => `Bearer error=${JSON.stringify(message.replaceAll('ä', ''))}\r\n`),
  },
  'a promise': { code: 'CHALLENGE_MALFORMED', make: () => providing(async () => bearer()) },
  'an address made from the host': {
    code: 'CHALLENGE_REFLECTS',
    make: () =>
      providing(
        (_refusal: Refusal, { headers }: FastifyRequest) =>
          `Bearer resource_metadata="https://${headers.host}/.well-known/oauth-protected-resource"`,
      ),
  },
  'the token in the description': {
    code: 'CHALLENGE_REFLECTS',
    make: () =>
      providing((_refusal: Refusal, { credentials }: FastifyRequest) =>
        credentials.kind === 'bearer' ? `Bearer error_description="no ${credentials.token}"` : bearer(),
      ),
  },
  'another status': {
    code: 'CHALLENGE_STATUS',
    make: () => providing(bearer, { unavailableStatus: 500 }),
  },
  'removing the header': {
    code: 'REQUEST_CHANGED',
    make: () =>
      providing((_refusal: Refusal, { headers }: FastifyRequest) => {
        delete headers.authorization
        return bearer()
      }),
  },
})
