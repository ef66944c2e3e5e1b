import { createPrivateKey } from 'node:crypto'
import {
  ClientRegistrar,
  ConfigError,
  definePlugin,
  GatewayError,
  type RegisteredClient,
  StateStore,
  UpstreamError,
} from 'sallyport'
import {
  type Secret,
  type SecretContext,
  type SecretLocations,
  secretFrom,
  secretText,
} from 'sallyport/toolkit'
import { z } from 'zod'

export default definePlugin({
  name: 'registrar/given',
  api: 1,
  summary: "Uses the operator's own client, and sends its secret only to the issuer that it belongs to.",
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
        'file that holds its private key in PEM, for an issuer that requires a signature instead of a secret',
      ),
    issuer: z
      .string()
      .optional()
      .describe('the issuer that the client belongs to; default: the first that accepts it'),
    place: z
      .string()
      .default('')
      .describe('the name under which the issuer that accepted the client is stored, such as one target'),
  }),

  setup(gateway, options) {
    const { clientId, clientSecretFile, clientKeyFile, issuer: named, place } = options
    const store = gateway.use(StateStore)
    const file = gateway.path(clientSecretFile)
    const context = { log: gateway.log, scrubber: gateway.scrubber }
    const secret = openSecret('clientSecretFile', { value: options.clientSecret, file }, context)
    const key = openKey(gateway.path(clientKeyFile), context)
    gateway.onStop(() => {
      secret?.close()
      key?.close()
    })

    const secrets = () => ({
      ...(secret !== undefined && { clientSecret: secret.reveal() }),
      ...(key !== undefined && { clientKey: key.reveal() }),
    })
    const bindingKey = `oauth/binding/${encodeURIComponent(clientId)}/${place}`
    const boundIssuer = async (): Promise<string | undefined> => named ?? (await store().get(bindingKey))
    gateway.provide(ClientRegistrar, {
      name: 'given',
      async register({ issuer }) {
        const bound = await boundIssuer()
        // The target names the issuer, and must not choose which server gets the operator's secret.
        if (bound !== undefined && bound !== issuer) throw otherIssuer(bound, issuer)
        return { issuer, clientId, ...secrets() }
      },
      async current(client) {
        const isOwn = client.clientId === clientId && (await boundIssuer()) === client.issuer
        return isOwn ? { ...client, ...secrets() } : undefined
      },
      async accepted(client: RegisteredClient) {
        if (client.clientId !== clientId || (await boundIssuer()) !== undefined) return
        await store().set(bindingKey, client.issuer)
      },
    })
  },

  facts: () => ({ hasClient: true }),
})

function openSecret(place: string, locations: SecretLocations, context: SecretContext): Secret | undefined {
  try {
    return secretFrom(locations, context)
  } catch (cause) {
    const message = cause instanceof GatewayError ? cause.message : 'cannot be read'
    throw new ConfigError([{ place, message }], { cause })
  }
}

function openKey(file: string | undefined, context: SecretContext): Secret | undefined {
  const place = 'clientKeyFile'
  const key = openSecret(place, { file }, context)
  try {
    if (key !== undefined) createPrivateKey(key.reveal())
  } catch {
    key?.close()
    const message = 'expected a private key in PEM without a passphrase, RSA, EC or Ed25519'
    throw new ConfigError([{ place, message }])
  }
  return key
}

const otherIssuer = (bound: string, issuer: string): UpstreamError =>
  new UpstreamError(
    'CLIENT_OF_ANOTHER_ISSUER',
    `the client belongs to the issuer ${bound}, but the target names ${issuer}: no secret was sent to ${issuer}; to use the client there, set the issuer yourself`,
  )
