import { LONGEST_WAIT } from 'sallyport/toolkit'
import { z } from 'zod'

const pemFile = () => z.string().min(1).optional()

const tlsOptions = {
  targetCaCert: pemFile().describe(
    'file of PEM certificates of the authorities to trust for the target, instead of the usual ones; read again when it changes',
  ),
  targetClientCert: pemFile().describe(
    'file of the PEM certificate for the target, with the intermediate certificates; read again when it changes',
  ),
  targetClientKey: pemFile().describe('file of the private key of that certificate'),
}

const tlsSettings = z.object(tlsOptions)

export type TlsSettings = z.output<typeof tlsSettings>

/** The options of every forwarder. */
export const forwarderOptions = {
  ...tlsOptions,
  forwardAuthorization: z
    .boolean()
    .default(false)
    .describe("forward the caller's `Authorization`, unless a credential replaces it"),
  forwardCookies: z.boolean().default(false).describe("forward the caller's `Cookie`"),
  forwardedHeaders: z
    .boolean()
    .default(false)
    .describe("send the caller's address, host and protocol in `Forwarded` and `X-Forwarded-*`"),
  removedPrefix: z
    .string()
    .regex(/^(?:\/[^/?#\s\\]+)+$/, 'expected a path such as /corp/mcp: no slash at its end, nor two together')
    .optional()
    .describe(
      'the path that a proxy in front removes from requests: redirects and endpoints that the target announces get it back',
    ),
  allowPlainHttp: z
    .boolean()
    .default(false)
    .describe(
      'send credentials over plain http to a target that is neither on this machine nor in a private network',
    ),
  endStreamsWithToken: z
    .boolean()
    .default(false)
    .describe(
      "end event streams and WebSockets when the caller's token expires, so that it has to authenticate again",
    ),
  targetTimeout: z
    .int()
    .nonnegative()
    .max(LONGEST_WAIT)
    .default(60_000)
    .describe('milliseconds for the target to begin its response, none for event streams; 0 for no limit'),
  maxBody: z
    .int()
    .positive()
    .optional()
    .describe(
      'bytes of the largest request body; by default no limit, but 1 MiB where a policy or a limit reads the body, which reads 16 MiB at most',
    ),
  bodyTimeout: z
    .int()
    .positive()
    .max(LONGEST_WAIT)
    .default(60_000)
    .describe('milliseconds that a request body may stall, and that its rest may take after the response'),
  bodyRate: z
    .int()
    .nonnegative()
    .default(240)
    .describe(
      'bytes a second at which a request body has to arrive, averaged over `bodyTimeout`; 0 for no limit',
    ),
  keptBodies: z
    .int()
    .nonnegative()
    .default(64 * 1024 * 1024)
    .describe(
      'bytes of all request bodies that the gateway keeps, to send them again or for a policy or a limit; beyond that it streams bodies, or refuses with 503 those that have to be read',
    ),
}

const settings = z.object(forwarderOptions)

export type ForwarderSettings = z.output<typeof settings>
