import { duration, LONGEST_WAIT } from 'sallyport'
import { z } from 'zod'

const url = z
  .string()
  .refine((given) => /^https?:\/\//i.test(given) && URL.canParse(given), 'expected an http or https URL')

export const OAuthOptions = z.strictObject({
  target: url.describe('the server that the tokens are for; it says where to get them'),
  login: z
    .enum(['start', 'demand'])
    .default('demand')
    .describe('`start`: sign in at once; `demand`: when the target first asks for it'),
  issuer: z
    .string()
    .optional()
    .describe('issuer of the authorization server, instead of what the target says'),
  authorizationUrl: url.optional().describe('authorization endpoint, for a server without discovery'),
  tokenUrl: url.optional().describe('token endpoint, for a server without discovery'),
  scopes: z
    .array(z.string().min(1))
    .optional()
    .describe('scopes to ask for, instead of what the target says'),
  scopeParameter: z
    .string()
    .min(1)
    .default('scope')
    .describe('query parameter of the authorization URL that carries the scopes'),
  resource: z
    .string()
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
  timeout: duration(LONGEST_WAIT).default(30_000).describe('how long a sign-in may take'),
  allowPrivateIP: z
    .boolean()
    .default(false)
    .describe('authorization servers that the target names may be at private addresses'),
  keptAs: z.string().default('').describe('tells logins at the same target apart, such as by client ID'),
})

export type OAuthOptions = z.output<typeof OAuthOptions>
