import { createPrivateKey } from 'node:crypto'
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
    clientKeyFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        'file that holds its private key in PEM, for an issuer that wants a signature instead of a secret',
      ),
    issuer: z
      .string()
      .optional()
      .describe('the issuer that the client belongs to; the first that accepts it unless given'),
    place: z.string().default('').describe('what the client is used for: its issuer is remembered for that'),
  }),

  setup(gateway, options) {
    const { clientId, clientSecretFile, clientKeyFile, issuer: named, place } = options
    const store = gateway.use(StateStore)
    const file = clientSecretFile === undefined ? undefined : gateway.path(clientSecretFile)
    const context = { log: gateway.log, scrubber: gateway.scrubber }
    const secret = opened('clientSecretFile', { value: options.clientSecret, file }, context)
    const key = keyIn(clientKeyFile === undefined ? undefined : gateway.path(clientKeyFile), context)
    gateway.onStop(() => {
      secret?.close()
      key?.close()
    })

    const binding = `oauth/binding/${encodeURIComponent(clientId)}/${place}`
    const owner = async (): Promise<string | undefined> => named ?? (await store().get(binding))
    gateway.provide(ClientRegistrar, {
      name: 'given',
      async register({ issuer }) {
        const bound = await owner()
        // The target chooses the issuer: it must not choose who gets the operator's secret.
        if (bound !== undefined && bound !== issuer) throw foreign(bound, issuer)
        return {
          issuer,
          clientId,
          ...(secret !== undefined && { clientSecret: secret.reveal() }),
          ...(key !== undefined && { clientKey: key.reveal() }),
        }
      },
      async accepted(client: RegisteredClient) {
        if (client.clientId !== clientId || (await owner()) !== undefined) return
        await store().set(binding, client.issuer)
      },
    })
  },
})

function opened(place: string, places: SecretPlaces, context: SecretContext): Secret | undefined {
  try {
    return secretFrom(places, context)
  } catch (cause) {
    const message = cause instanceof GatewayError ? cause.message : 'cannot be read'
    throw new ConfigError([{ place, message }], { cause })
  }
}

function keyIn(file: string | undefined, context: SecretContext): Secret | undefined {
  const place = 'clientKeyFile'
  const key = opened(place, { file }, context)
  try {
    if (key !== undefined) createPrivateKey(key.reveal())
  } catch {
    key?.close()
    const message = 'expected a private key in PEM without a passphrase, RSA, EC or Ed25519'
    throw new ConfigError([{ place, message }])
  }
  return key
}

const foreign = (bound: string, issuer: string): UpstreamError =>
  new UpstreamError(
    'CLIENT_OF_ANOTHER_ISSUER',
    `the client belongs to the issuer ${bound}, and the target asks for ${issuer}: nothing was sent there; naming the issuer yourself allows it`,
  )
