import { definePlugin, Guard, PublicAddress } from 'sallyport'
import { loopbackHosts } from 'sallyport/toolkit'
import { z } from 'zod'
import { notAllowed } from './not-allowed.js'
import { allowLatest } from './public.js'

// Other schemes too: pages of editors and browser extensions have their own.
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/?#@*\s]+$/i

const origin = z.string().superRefine((value, context) => {
  const message = ORIGIN.test(value)
    ? spellingFault(value)
    : `${formatFault(value)}, such as https://app.example.com`
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

/** Browsers send origins in lower case, without a default port, and names in other scripts in their ASCII form. */
function spellingFault(value: string): string | undefined {
  if (!/^https?:/i.test(value)) return undefined
  const sent = URL.canParse(value) ? new URL(value).origin : undefined
  if (sent === value) return undefined
  return `matches no page: ${sent === undefined ? 'expected an origin' : `browsers send ${sent}`}`
}

function formatFault(written: string): string {
  if (/^null$/i.test(written)) return 'any page can send this: expected the origin of a page'
  if (written.includes('*')) return 'patterns are not supported: expected each origin by itself'
  if (/^[a-z][a-z\d+.-]*:\/\/[^/?#]+[/?#]/i.test(written))
    return 'expected an origin without a path or a slash at the end, as browsers send it'
  return 'expected an origin: scheme, host and port'
}

export default definePlugin({
  name: 'guard/origin',
  api: 1,
  summary: 'Refuses requests of browsers from origins that are not listed. Requests without `Origin` pass.',
  provides: [Guard],
  omits: ({ any }) => (any ? [Guard] : []),
  options: z.strictObject({
    allowed: z.array(origin).default([]).describe('origins, compared exactly'),
    loopback: z
      .boolean()
      .default(false)
      .describe('allow `localhost`, `127.0.0.1` and `[::1]` with the port of the gateway'),
    public: z.boolean().default(false).describe("allow the public address of the list's tunnel"),
    any: z.boolean().default(false).describe('allow every origin; the log has a warning'),
  }),

  setup(gateway, options) {
    if (options.any) {
      gateway.log.warn('the gateway accepts requests from web pages of any origin: list the origins to allow')
      return
    }
    const allowed = new Set(options.allowed)
    if (allowed.size === 0 && !options.loopback && !options.public)
      gateway.log.info(
        'pages in browsers cannot use this gateway: no origin is allowed, see `allowedOrigins`',
      )
    if (options.loopback) {
      gateway.onReady((addresses) => {
        for (const host of loopbackHosts(addresses)) allowed.add(`http://${host}`).add(`https://${host}`)
      })
    }
    const addresses = gateway.use(PublicAddress)
    if (options.public) {
      gateway.onStart(() => {
        for (const address of addresses()) allowLatest(allowed, address, (origin) => origin)
      })
    }
    // Several `Origin` headers arrive joined by a comma, which equals no entry of a list.
    gateway.provide(Guard, ({ headers: { origin }, routeOptions: { config } }) => {
      if (origin === undefined || allowed.has(origin)) return
      // On loopback these routes are closed too: no page of another origin learns what runs on this machine.
      if (config.anyOrigin === true && !options.loopback) return
      throw notAllowed('origin', origin)
    })
  },
})
