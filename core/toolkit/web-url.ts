import { z } from 'zod'

const isWebUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text)

/** An option that is an http or https URL, kept as it was written. */
export const webUrl = (): z.ZodString => z.string().refine(isWebUrl, 'expected an http or https URL')

const ENTRA = /^(?:login\.microsoftonline\.(?:com|us)|login\.partner\.microsoftonline\.cn|sts\.windows\.net)$/
const NO_TENANT = /^\/(?:common|organizations|consumers)(?:\/|$)/

/** An option that is an issuer, as `iss` of its tokens has it. It refuses URLs that no token can have there. */
export const issuerUrl = (): z.ZodString =>
  webUrl()
    .refine(
      (text) => !/\/\.well-known(?:\/|$)/.test(URL.parse(text)?.pathname ?? ''),
      'expected the issuer itself, as `iss` has it: leave out /.well-known and the rest, the gateway finds the metadata by itself',
    )
    .refine((text) => {
      const { hostname = '', pathname = '' } = URL.parse(text) ?? {}
      return !(ENTRA.test(hostname) && NO_TENANT.test(pathname))
    }, 'expected the URL with the ID of one tenant: tokens of Entra name their tenant in `iss`, and no token has this issuer')

/** An option that is the URL of a target: requests go to its path, with its query before their own. */
export const targetUrl = (): z.ZodURL =>
  z
    .url({ protocol: /^https?$/, error: 'expected a URL of http or https' })
    .refine((url) => !url.includes('#'), 'expected a URL without fragment')
    .refine((url) => {
      // The check before this one has reported an invalid URL; this one must not throw, so that other options are
      // still checked.
      if (!URL.canParse(url)) return true
      const { username, password } = new URL(url)
      return username === '' && password === ''
    }, 'expected a URL without user and password: credentials have options of their own')
