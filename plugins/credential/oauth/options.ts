import { duration, LONGEST_WAIT, webUrl } from 'sallyport/toolkit'
import { z } from 'zod'

const url = webUrl()

export const OAuthOptions = z.strictObject({
  target: url.describe('the server that the tokens are for; its metadata names the authorization server'),
  login: z
    .enum(['start', 'demand'])
    .default('demand')
    .describe('`start`: sign in at once; `demand`: when the target first requires it'),
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
    .describe(
      '`true`: a callback port in use is an error, since the client is registered with it; `false`: another free port is used instead',
    ),
  openBrowser: z.boolean().default(true).describe('open a browser; `false`: print the URL'),
  timeout: duration(LONGEST_WAIT).prefault('30s').describe('how long a request waits for a sign-in'),
  signInTimeout: duration(LONGEST_WAIT).prefault('10m').describe('how long a user has to finish a sign-in'),
  tellsCallers: z
    .boolean()
    .default(false)
    .describe(
      'show callers the URL of the sign-in page; only for a gateway that one person alone can reach, since anybody with the URL can sign in there with another account',
    ),
  allowPrivateIP: z
    .boolean()
    .default(false)
    .describe('allow authorization servers at private addresses that the target names'),
  keptAs: z
    .string()
    .default('')
    .describe('a name under which logins at the same target are stored separately, such as the client ID'),
})

export type OAuthOptions = z.output<typeof OAuthOptions>

/** Milliseconds for a whole login: only a login with a user may take long. */
export const loginLimit = ({ grant, timeout, signInTimeout }: OAuthOptions): number =>
  grant === 'client_credentials' ? timeout : Math.max(timeout, signInTimeout)
