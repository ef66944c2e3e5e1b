import { ClientRegistrar, GatewayError, type RegistrationRequest } from 'sallyport'
import { type Contract, firstFault, isObject, messageOf } from './contract.js'

const wanted = (issuer: string, metadata: RegistrationRequest['metadata']): RegistrationRequest => ({
  issuer,
  metadata,
  redirectUris: ['http://127.0.0.1:8666/callback'],
  grantTypes: ['authorization_code', 'refresh_token'],
  scopes: [],
  // The issuer that is asked about knows nobody.
  fetch: async () => new Response('{"error":"invalid_client_metadata"}', { status: 400 }),
})

const issuers = ['https://one.example', 'https://one.example/', 'https://two.example/tenant']
const REQUESTS = issuers.flatMap((issuer) => [
  wanted(issuer, { issuer }),
  wanted(issuer, { issuer, registration_endpoint: `${issuer}/register` }),
  wanted(issuer, { issuer, client_id_metadata_document_supported: true }),
])

export const clientRegistrarContract: Contract<ClientRegistrar> = {
  capability: ClientRegistrar,
  clauses: [
    {
      code: 'REGISTRAR_THROWS',
      asks: 'answers nothing when it cannot, so that the next one is asked',
      advice: 'answer undefined; throw a GatewayError when nobody else may be asked either',
      look: (registrar) =>
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
      asks: 'gives a client of the issuer that was asked about, byte for byte',
      advice: 'remember clients by `request.issuer` as it is: a secret must never reach another issuer',
      look: (registrar) =>
        firstFault(REQUESTS, async (request) => {
          const client: unknown = await registrar.register(request).catch(() => undefined)
          if (client === undefined) return undefined
          if (!isObject(client) || typeof client['clientId'] !== 'string' || client['clientId'] === '')
            return 'its client has no clientId'
          return client['issuer'] === request.issuer ? undefined : 'its client is of another issuer'
        }),
    },
    {
      code: 'REGISTRAR_STARTLED',
      asks: 'hears without harm of clients that it did not make',
      advice: '`accepted` and `forget` tell every registrar of every client: look whether it is one of yours',
      async look(registrar) {
        const client = { issuer: 'https://other.example', clientId: 'somebody' }
        try {
          await registrar.accepted?.(client)
          await registrar.forget?.(client)
          return undefined
        } catch (error) {
          return `it throws: ${messageOf(error)}`
        }
      },
    },
  ],
}
