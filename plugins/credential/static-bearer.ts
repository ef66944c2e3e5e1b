import {
  ConfigError,
  Credential,
  definePlugin,
  GatewayError,
  type OutgoingCredential,
  UpstreamError,
} from 'sallyport'
import { type Secret, type SecretContext, secretFrom, secretText } from 'sallyport/toolkit'
import { z } from 'zod'

// RFC 6750, 2.1: the syntax of a token, checked at each change of the file.
const TOKEN = /^[\w.~+/-]+=*$/

export default definePlugin({
  name: 'credential/static-bearer',
  api: 1,
  summary: 'Sends one configured bearer token with every request to the target.',
  provides: [Credential],
  options: z
    .strictObject({
      token: secretText()
        .regex(TOKEN, 'this is not a bearer token: expected letters, digits and -._~+/, and no white space')
        .optional()
        .describe('the token; other users of this machine may see it, so prefer a file'),
      file: z.string().min(1).optional().describe('file that holds the token; read again when it changes'),
    })
    .refine(({ token, file }) => token !== undefined || file !== undefined, 'expected a token or a file'),

  setup(gateway, { token, file }) {
    const { log, scrubber } = gateway
    const secret = openToken({ token, file: gateway.path(file) }, { log, scrubber })
    let credential: OutgoingCredential | undefined
    gateway.provide(Credential, {
      name: 'static-bearer',
      present() {
        const accessToken = secret.reveal()
        if (credential?.accessToken !== accessToken) {
          if (!TOKEN.test(accessToken)) throw unusable(file)
          credential = { header: 'authorization', value: `Bearer ${accessToken}`, accessToken }
        }
        return credential
      },
    })
    gateway.onStop(() => secret.close())
  },

  facts: ({ path }, { token, file }) => ({ bearer: () => readToken(token, file && path(file)) }),
})

/** `undefined` when the token cannot be read: the start reports that. */
function readToken(token: string | undefined, file: string | undefined): string | undefined {
  let secret: Secret | undefined
  try {
    secret = secretFrom({ value: token, file })
    return secret?.reveal()
  } catch {
    return undefined
  } finally {
    secret?.close()
  }
}

interface Source {
  readonly token: string | undefined
  readonly file: string | undefined
}

/** Opens the token; one that cannot be used stops the boot. */
function openToken({ token, file }: Source, context: SecretContext): Secret {
  const place = file === undefined ? 'token' : 'file'
  const wrong = (message: string): ConfigError => new ConfigError([{ place, message }])
  try {
    const secret = secretFrom({ value: token, file }, context)
    if (secret !== undefined && TOKEN.test(secret.reveal())) return secret
    secret?.close()
  } catch (error) {
    // A `GatewayError` names the file.
    throw wrong(error instanceof GatewayError ? error.message : 'cannot be read')
  }
  throw wrong(noToken(file))
}

const noToken = (file: string | undefined): string =>
  `${file ?? 'the token'} holds no bearer token: expected one line without white space`

const unusable = (file: string | undefined): UpstreamError =>
  new UpstreamError('CREDENTIAL_UNUSABLE', 'the credential for the target cannot be used', {
    statusCode: 503,
    retryAfter: 30,
    cause: new Error(noToken(file)),
  })
