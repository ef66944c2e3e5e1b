import { ConfigError, definePlugin, type Gateway, Source } from 'sallyport'
import {
  createFetcher,
  duration,
  insecureHttpAllowed,
  isInsecure,
  isPrivateUrl,
  PLAIN_HTTP_RULE,
  secretHeaders,
  webUrl,
} from 'sallyport/toolkit'
import { z } from 'zod'
import { interval } from './interval.js'
import { RemoteRegistry } from './remote-registry.js'

const base = webUrl().refine(
  (text) => !/[?#]|^[^/]*\/\/[^/]*@/.test(text),
  'expected a URL without user, query and fragment',
)

const options = z.strictObject({
  name: z.string().min(1).describe('the name that registries list it by'),
  url: base.describe('the base URL of a registry with the API v0.1: `/v0.1/servers` is appended'),
  headers: secretHeaders().describe('sent with every request, such as an API key'),
  bearerTokenFile: z.string().optional().describe('a file with a token that is sent to the origin of `url`'),
  caCertPath: z
    .string()
    .optional()
    .describe('certificate authorities to trust for it, instead of the default ones'),
  allowPrivateIP: z.boolean().default(false).describe('the registry may have a private address'),
  every: interval().prefault('10m').describe('how often it is asked for changes'),
  wholeEvery: duration()
    .prefault('24h')
    .describe('how often it is read as a whole, which is when removed servers are noticed'),
  timeout: duration(300_000).prefault('10s').describe('the longest that one page may take'),
  maxPageBytes: z
    .int()
    .positive()
    .default(16 * 1024 * 1024)
    .describe('the most bytes that one page may have'),
  maxBytes: z
    .int()
    .positive()
    .default(1024 ** 3)
    .describe('the most bytes that all pages of one sync may have'),
})

export default definePlugin({
  name: 'source/http',
  api: 1,
  summary: 'Reads another registry over its API v0.1: all pages first, then changes.',
  provides: [Source],
  options,

  setup(gateway, given) {
    const { name, url, headers, every, wholeEvery, maxBytes } = given
    const insecure = insecureHttpAllowed()
    if (!insecure && isInsecure(new URL(url))) throw notSecure()
    if (!given.allowPrivateIP && isPrivateUrl(url)) throw privateAddress()
    for (const value of Object.values(headers)) gateway.scrubber.add(value)
    const fetcher = fetcherFor(gateway, given, insecure)
    gateway.onStop(() => fetcher.close())

    const location = url.replace(/\/+$/, '')
    const remote = new RemoteRegistry(location, { fetch: fetcher.fetch, headers, wholeEvery, maxBytes })
    gateway.provide(Source, {
      name,
      location: `http ${location}`,
      every,
      fetch: (context) => remote.read(context),
    })
  },
})

function fetcherFor(gateway: Gateway, given: z.output<typeof options>, allowInsecureHttp: boolean) {
  const { url, bearerTokenFile, caCertPath, allowPrivateIP, timeout, maxPageBytes } = given
  return createFetcher({
    caFile: gateway.path(caCertPath),
    bearer:
      bearerTokenFile === undefined
        ? undefined
        : { file: gateway.path(bearerTokenFile), to: [new URL(url).origin] },
    allowPrivate: allowPrivateIP,
    allowInsecureHttp,
    timeout,
    maxBytes: maxPageBytes,
    scrubber: gateway.scrubber,
    log: gateway.log,
  })
}

const privateAddress = (): ConfigError =>
  new ConfigError([
    { place: 'allowPrivateIP', message: 'is needed: the registry is at a private or loopback address' },
  ])

const notSecure = (): ConfigError =>
  new ConfigError([
    {
      place: 'url',
      message: `expected https; ${PLAIN_HTTP_RULE}`,
    },
  ])
