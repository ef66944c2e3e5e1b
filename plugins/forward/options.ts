import { LONGEST_WAIT } from 'sallyport/toolkit'
import { z } from 'zod'

const pemFile = () => z.string().min(1).optional()

const tlsOptions = {
  targetCaCert: pemFile().describe(
    'file of PEM certificates of the authorities to trust for the target, instead of the usual ones; read again when it changes',
  ),
  targetClientCert: pemFile().describe(
    'file of the PEM certificate that the target gets, with those between it and its authority; read again when it changes',
  ),
  targetClientKey: pemFile().describe('file of the private key of that certificate'),
}

const tlsSettings = z.object(tlsOptions)

export type TlsSettings = z.output<typeof tlsSettings>

/** What every forwarder can be told. */
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
      'bytes of the largest request body; without it no limit, but 1 MiB where a policy or a limit reads the body; it reads 16 MiB at most',
    ),
  bodyTimeout: z
    .int()
    .positive()
    .max(LONGEST_WAIT)
    .default(60_000)
    .describe(
      'milliseconds that a request body may stall, and that the rest of it may take once it has its answer',
    ),
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
      'bytes of all request bodies that are kept to be sent again with a renewed credential, or read for a policy or a limit; further ones are streamed, or refused with 503 where they have to be read; a quarter is for the first 64 KiB of each, and each caller has an eighth at most',
    ),
}

const settings = z.object(forwarderOptions)

export type ForwarderSettings = z.output<typeof settings>
