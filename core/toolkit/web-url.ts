import { z } from 'zod'

const isWebUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text)

/** An option that is an http or https URL, kept as it was written. */
export const webUrl = (): z.ZodString => z.string().refine(isWebUrl, 'expected an http or https URL')

const ENTRA = /^(?:login\.microsoftonline\.(?:com|us)|login\.partner\.microsoftonline\.cn|sts\.windows\.net)$/
const NO_TENANT = /^\/(?:common|organizations|consumers)(?:\/|$)/

/** An option that is an issuer, as `iss` of its tokens has it: what no token can have there is refused. */
export const issuerUrl = (): z.ZodString =>
  webUrl()
    .refine(
      (text) => !/\/\.well-known(?:\/|$)/.test(URL.parse(text)?.pathname ?? ''),
      'expected the issuer itself, as `iss` has it: its metadata is found below it, so leave out /.well-known and what follows',
    )
    .refine((text) => {
      const { hostname = '', pathname = '' } = URL.parse(text) ?? {}
      return !(ENTRA.test(hostname) && NO_TENANT.test(pathname))
    }, 'expected the URL with the ID of one tenant in it: the tokens of Entra name their tenant in `iss`, and none is of this issuer')

/** An option that is the URL of a target: its path is where requests go, with its query before their own. */
export const targetUrl = (): z.ZodURL =>
  z
    .url({ protocol: /^https?$/, error: 'expected a URL of http or https' })
    .refine((url) => !url.includes('#'), 'expected a URL without fragment')
    .refine((url) => {
      // What is no URL is told by then, and no reason to leave other options unchecked.
      if (!URL.canParse(url)) return true
      const { username, password } = new URL(url)
      return username === '' && password === ''
    }, 'expected a URL without user and password: credentials have options of their own')
