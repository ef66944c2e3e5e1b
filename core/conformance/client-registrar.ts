import { ClientRegistrar, type RegistrationRequest } from '../contract/capabilities/client-registrar.js'
import { GatewayError } from '../contract/errors.js'
import { type ConformanceSuite, firstFault, hasName, isObject, isText, messageOf } from './requirement.js'

const requestFor = (issuer: string, metadata: RegistrationRequest['metadata']): RegistrationRequest => ({
  issuer,
  metadata,
  redirectUris: ['http://127.0.0.1:8666/callback'],
  grantTypes: ['authorization_code', 'refresh_token'],
  scopes: [],
  // An issuer that registers no client.
  fetch: async () => new Response('{"error":"invalid_client_metadata"}', { status: 400 }),
})

const issuers = ['https://one.example', 'https://one.example/', 'https://two.example/tenant']
const REQUESTS = issuers.flatMap((issuer) => [
  requestFor(issuer, { issuer }),
  requestFor(issuer, { issuer, registration_endpoint: `${issuer}/register` }),
  requestFor(issuer, { issuer, client_id_metadata_document_supported: true }),
])

export const clientRegistrarConformance: ConformanceSuite<ClientRegistrar> = {
  capability: ClientRegistrar,
  requirements: [
    hasName('REGISTRAR_UNNAMED'),
    {
      code: 'REGISTRAR_THROWS',
      statement: 'returns nothing when it cannot, so that the next registrar tries',
      advice: 'return undefined; throw a GatewayError when no other registrar may try either',
      check: (registrar) =>
        firstFault(REQUESTS, async (request) => {
          try {
            await registrar.register(request)
            return undefined
          } catch (error) {
            return error instanceof GatewayError ? undefined : `it throws: ${messageOf(error)}`
          }
        }),
    },
    {
      code: 'CLIENT_FOREIGN',
      statement: 'returns a client of the requested issuer, byte for byte',
      advice: 'store clients under `request.issuer` unchanged: a secret must never reach another issuer',
      check: (registrar) =>
        firstFault(REQUESTS, async (request) => {
          const client: unknown = await registrar.register(request).catch(() => undefined)
          if (client === undefined) return undefined
          if (!isObject(client) || !isText(client['clientId'])) return 'its client has no clientId'
          return client['issuer'] === request.issuer ? undefined : 'its client belongs to another issuer'
        }),
    },
    {
      code: 'REGISTRAR_STARTLED',
      statement: 'ignores clients that it did not make',
      advice:
        'every registrar gets `accepted` and `forget` for every client: check whether the client is yours',
      async check(registrar) {
        const client = { issuer: 'https://other.example', clientId: 'somebody' }
        try {
          await registrar.accepted?.(client)
          await registrar.forget?.(client)
          const current = await registrar.current?.(client)
          return current === undefined ? undefined : 'it returns a client that it did not make'
        } catch (error) {
          return `it throws: ${messageOf(error)}`
        }
      },
    },
  ],
}
