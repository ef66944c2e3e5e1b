import { z } from 'zod'

// RFC 8693, 3. The last one is from the identity assertion grant, which MCP calls enterprise-managed authorization.
const SHORT_NAMES = ['access_token', 'refresh_token', 'id_token', 'saml1', 'saml2', 'jwt', 'id-jag'] as const

const PREFIX = 'urn:ietf:params:oauth:token-type:'

export const ACCESS_TOKEN = `${PREFIX}access_token`
export const ID_TOKEN = `${PREFIX}id_token`
export const JWT = `${PREFIX}jwt`

const isShort = (text: string): boolean => SHORT_NAMES.some((name) => name === text)

/** An option that names a type of token, by its short name or by its whole URI; the plugin gets the URI. */
export const tokenType = () =>
  z
    .string()
    .refine(
      (text) => isShort(text) || (/^[a-z][a-z\d+.-]*:\S+$/i.test(text) && URL.canParse(text)),
      `expected a URI, or one of ${SHORT_NAMES.join(', ')}`,
    )
    .transform((text) => (isShort(text) ? PREFIX + text : text))
