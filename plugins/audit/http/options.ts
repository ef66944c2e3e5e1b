import {
  insecureHttpAllowed,
  isInsecure,
  isPrivateUrl,
  PLAIN_HTTP_RULE,
  secretHeaders,
  webUrl,
} from 'sallyport/toolkit'
import { z } from 'zod'

const url = webUrl().refine(
  (text) => !/#|^[^/]*\/\/[^/]*@/.test(text),
  'expected a URL without user and fragment',
)

const fields = z.strictObject({
  url: url.describe('where the events are sent with POST'),
  bearerTokenFile: z.string().min(1).optional().describe('a file with a token that is sent to `url`'),
  headers: secretHeaders().describe('sent with every request, such as an API key'),
  format: z
    .enum(['ndjson', 'array'])
    .default('ndjson')
    .describe('`ndjson`: a line for each event (`application/x-ndjson`); `array`: one JSON array'),
  caCertPath: z
    .string()
    .min(1)
    .optional()
    .describe('certificate authorities to trust for the receiver, instead of the default ones'),
  allowPrivateIP: z.boolean().default(false).describe('the receiver may have a private address'),
})

export type HttpOptions = z.output<typeof fields>

export const httpOptions = fields.superRefine(
  ({ url: to, allowPrivateIP, headers, bearerTokenFile }, context) => {
    const refuse = (message: string, ...path: string[]): void =>
      context.addIssue({ code: 'custom', path, message })
    if (URL.canParse(to) && isInsecure(new URL(to)) && !insecureHttpAllowed()) refuse(NOT_SECURE, 'url')
    if (isPrivateUrl(to) && !allowPrivateIP) refuse(PRIVATE, 'allowPrivateIP')
    if ('content-type' in headers) refuse('remove it: `format` decides it', 'headers', 'content-type')
    if ('authorization' in headers && bearerTokenFile !== undefined)
      refuse('remove it, or `bearerTokenFile`: both are this header', 'headers', 'authorization')
  },
)

const PRIVATE = 'is needed: the receiver is at a private or loopback address'
const NOT_SECURE = `expected https; ${PLAIN_HTTP_RULE}`
