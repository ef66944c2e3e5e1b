import {
  ClientRegistrar,
  ConfigError,
  definePlugin,
  GatewayError,
  type RegisteredClient,
  type Secret,
  type SecretContext,
  type SecretPlaces,
  StateStore,
  secretFrom,
  secretText,
  UpstreamError,
} from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'registrar/given',
  api: 1,
  summary: "Uses the operator's own client, and keeps its secret for the issuer that it belongs to.",
  provides: [ClientRegistrar],
  requires: [StateStore],
  options: z.strictObject({
    clientId: z.string().min(1).describe('the client ID'),
    clientSecret: secretText().optional().describe('its secret; other users may see it, so prefer a file'),
    clientSecretFile: z.string().min(1).optional().describe('file that holds its secret'),
    issuer: z
      .string()
      .optional()
      .describe('the issuer that the client belongs to; the first that accepts it unless given'),
    place: z.string().default('').describe('what the client is used for: its issuer is remembered for that'),
  }),

  setup(gateway, options) {
    const { clientId, clientSecretFile, issuer: named, place } = options
    const store = gateway.use(StateStore)
    const file = clientSecretFile === undefined ? undefined : gateway.path(clientSecretFile)
    const secret = opened(
      { value: options.clientSecret, file },
      { log: gateway.log, scrubber: gateway.scrubber },
    )
    gateway.onStop(() => secret?.close())

    const key = `oauth/binding/${encodeURIComponent(clientId)}/${place}`
    const owner = async (): Promise<string | undefined> => named ?? (await store().get(key))
    gateway.provide(ClientRegistrar, {
      name: 'given',
      async register({ issuer }) {
        const bound = await owner()
        // The target chooses the issuer: it must not choose who gets the operator's secret.
        if (bound !== undefined && bound !== issuer) throw foreign(bound, issuer)
        return { issuer, clientId, ...(secret !== undefined && { clientSecret: secret.reveal() }) }
      },
      async accepted(client: RegisteredClient) {
        if (client.clientId !== clientId || (await owner()) !== undefined) return
        await store().set(key, client.issuer)
      },
    })
  },
})

function opened(places: SecretPlaces, context: SecretContext): Secret | undefined {
  try {
    return secretFrom(places, context)
  } catch (cause) {
    const message = cause instanceof GatewayError ? cause.message : 'cannot be read'
    throw new ConfigError([{ place: 'clientSecretFile', message }], { cause })
  }
}

const foreign = (bound: string, issuer: string): UpstreamError =>
  new UpstreamError(
    'CLIENT_OF_ANOTHER_ISSUER',
    `the client belongs to the issuer ${bound}, and the target asks for ${issuer}: nothing was sent there; naming the issuer yourself allows it`,
  )
