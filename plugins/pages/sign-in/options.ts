import {
  insecureHttpAllowed,
  isInsecure,
  isPrivateUrl,
  issuerUrl as issuerUrlOption,
  PLAIN_HTTP_RULE,
  scopeToken,
  secretText,
  webUrl,
} from 'sallyport/toolkit'
import { z } from 'zod'

const filePath = () => z.string().min(1)

export const SignInOptions = z
  .strictObject({
    resourceUrl: webUrl().describe('where people are: the redirect URI has its origin'),
    issuerUrl: issuerUrlOption().describe(
      'the issuer where they sign in; its endpoints are found by discovery',
    ),
    clientId: z.string().min(1).describe('the client ID of the pages at the issuer'),
    clientSecret: secretText()
      .optional()
      .describe('its secret; a file is safer, and a public client has none'),
    clientSecretFile: filePath().optional().describe('the file that holds its secret'),
    scopes: z
      .array(scopeToken())
      .default(['openid'])
      .describe('what is asked for; with `offline_access` many issuers give a refresh token'),
    resource: z
      .string()
      .optional()
      .describe('the resource that tokens are asked for (RFC 8707); by default `resourceUrl`, none if empty'),
    cookieKeyFile: filePath()
      .optional()
      .describe(
        'the key of the cookies, at least 32 bytes in base64, the same for all replicas; by default one is made at start',
      ),
    caCertPath: filePath().optional().describe('PEM certificates to trust for the issuer'),
    allowPrivateIP: z.boolean().default(false).describe('the issuer may be at a private or loopback address'),
  })
  .superRefine((options, context) => {
    const { resourceUrl, issuerUrl, clientSecret, clientSecretFile, allowPrivateIP } = options
    const report = (option: string, message: string) =>
      context.issues.push({ code: 'custom', input: options, path: [option], message })

    if (isInsecureUrl(resourceUrl)) {
      report(
        'resourceUrl',
        'expected an https URL, or loopback: people would send their cookies in plain text',
      )
    }
    if (isInsecureUrl(issuerUrl) && !insecureHttpAllowed())
      report(
        'issuerUrl',
        `expected https: anybody on the network path could sign in as anybody; ${PLAIN_HTTP_RULE}`,
      )
    if (isPrivateUrl(issuerUrl) && !allowPrivateIP)
      report('allowPrivateIP', 'is needed: the provider is at a private or loopback address')
    if (clientSecret !== undefined && clientSecretFile !== undefined)
      report('clientSecretFile', 'excludes clientSecret: expected one of the two')
  })

export type SignInOptions = z.output<typeof SignInOptions>

const isInsecureUrl = (url: string): boolean => URL.canParse(url) && isInsecure(new URL(url))

/** The redirect path, below the scope of the entry. */
export const redirectUri = ({ resourceUrl }: SignInOptions, scope: string): string =>
  `${new URL(resourceUrl).origin}${scope}/sign-in/callback`
