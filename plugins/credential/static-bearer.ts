import {
  ConfigError,
  Credential,
  definePlugin,
  GatewayError,
  type Held,
  type Secret,
  type SecretContext,
  secretFrom,
  secretText,
  UpstreamError,
} from 'sallyport'
import { z } from 'zod'

// RFC 6750, 2.1: what may stand behind `Bearer`. It is checked at each change, since a file can change to anything.
const TOKEN = /^[\w.~+/-]+=*$/

export default definePlugin({
  name: 'credential/static-bearer',
  api: 1,
  summary: 'Sends one bearer token, which was given to the gateway, with every request to the target.',
  provides: [Credential],
  options: z
    .strictObject({
      token: secretText()
        .regex(TOKEN, 'this is no bearer token: letters, digits and -._~+/ are expected, and no white space')
        .optional()
        .describe('the token; other users of this machine may see it, so prefer a file'),
      file: z.string().min(1).optional().describe('file that holds the token; read again when it changes'),
    })
    .refine(({ token, file }) => token !== undefined || file !== undefined, 'expected a token or a file'),

  setup(gateway, { token, file }) {
    const { log, scrubber } = gateway
    const secret = opened(
      { token, file: file === undefined ? undefined : gateway.path(file) },
      { log, scrubber },
    )
    let held: Held | undefined
    gateway.provide(Credential, {
      name: 'static-bearer',
      present() {
        const accessToken = secret.reveal()
        if (held?.accessToken !== accessToken) {
          if (!TOKEN.test(accessToken)) throw unusable()
          held = { header: 'authorization', value: `Bearer ${accessToken}`, accessToken }
        }
        return held
      },
    })
    gateway.onStop(() => secret.close())
  },
})

interface Given {
  readonly token: string | undefined
  readonly file: string | undefined
}

/** The secret as it is at the start: what cannot be used then stops the boot. */
function opened({ token, file }: Given, context: SecretContext): Secret {
  const wrong = (place: string, message: string): ConfigError => new ConfigError([{ place, message }])
  try {
    const secret = secretFrom({ value: token, file }, context)
    if (secret !== undefined && TOKEN.test(secret.reveal())) return secret
    secret?.close()
  } catch (error) {
    // It names the file.
    throw wrong(
      file === undefined ? 'token' : 'file',
      error instanceof GatewayError ? error.message : 'cannot be read',
    )
  }
  throw wrong(file ?? 'the token', 'holds no bearer token: one line without white space is expected')
}

const unusable = (): UpstreamError =>
  new UpstreamError('CREDENTIAL_UNUSABLE', 'the credential for the target cannot be used', {
    statusCode: 503,
    retryAfter: 30,
  })
