import { duration, LONGEST_WAIT, webUrl } from 'sallyport/toolkit'
import { z } from 'zod'

const url = webUrl()

export const OAuthOptions = z.strictObject({
  target: url.describe('the server that the tokens are for; its metadata names the authorization server'),
  login: z
    .enum(['start', 'demand'])
    .default('demand')
    .describe('`start`: sign in at once; `demand`: when the target first asks for it'),
  issuer: z
    .string()
    .optional()
    .describe('issuer of the authorization server, instead of the one in the metadata of the target'),
  authorizationUrl: url.optional().describe('authorization endpoint, for a server without discovery'),
  tokenUrl: url.optional().describe('token endpoint, for a server without discovery'),
  scopes: z
    .array(z.string().min(1))
    .optional()
    .describe('scopes to request, instead of those that the target names'),
  scopeParameter: z
    .string()
    .min(1)
    .default('scope')
    .describe('query parameter of the authorization URL that carries the scopes'),
  resource: z
    .string()
    .refine(
      (uri) => uri === '' || (URL.canParse(uri) && !uri.includes('#')),
      "expected an absolute URI without a fragment, or '' to send none",
    )
    .optional()
    .describe("resource indicator (RFC 8707), instead of the target's own; an empty one is not sent"),
  grant: z
    .enum(['authorization_code', 'client_credentials', 'device_code'])
    .default('authorization_code')
    .describe('how a token is obtained: by a browser, by the client alone, or on another device'),
  callbackPort: z
    .int()
    .min(0)
    .max(65_535)
    .default(8666)
    .describe('port of the local server that the browser returns to'),
  callbackPortFixed: z
    .boolean()
    .default(false)
    .describe('a port in use is an error, since the client is registered with it; else a free one is taken'),
  openBrowser: z.boolean().default(true).describe('open a browser; else the URL is printed'),
  timeout: duration(LONGEST_WAIT).prefault('30s').describe('how long a request waits for a sign-in'),
  signInTimeout: duration(LONGEST_WAIT)
    .prefault('10m')
    .describe('how long a sign-in that was begun stays open for the person who does it'),
  tellsCallers: z
    .boolean()
    .default(false)
    .describe(
      'callers are told the URL to sign in at, for a gateway that one person alone can reach: who has it can sign in there as somebody else',
    ),
  allowPrivateIP: z
    .boolean()
    .default(false)
    .describe('authorization servers that the target names may be at private addresses'),
  keptAs: z.string().default('').describe('keeps logins at the same target apart, such as by client ID'),
})

export type OAuthOptions = z.output<typeof OAuthOptions>

/** Milliseconds for a whole login: without a person nobody is slow. */
export const loginLimit = ({ grant, timeout, signInTimeout }: OAuthOptions): number =>
  grant === 'client_credentials' ? timeout : Math.max(timeout, signInTimeout)
