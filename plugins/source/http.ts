import {
  ConfigError,
  createFetcher,
  definePlugin,
  duration,
  type Gateway,
  insecureHttpAllowed,
  isInsecure,
  Source,
  secretText,
} from 'sallyport'
import { z } from 'zod'
import { interval } from './interval.js'
import { RemoteRegistry } from './remote-registry.js'

const base = z
  .string()
  .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), 'expected an http or https URL')
  .refine((text) => !/[?#]|^[^/]*\/\/[^/]*@/.test(text), 'expected a URL without user, query and fragment')

const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'expected a header name')

const options = z.strictObject({
  name: z.string().min(1).describe('the name that registries list it by'),
  url: base.describe('the base of a registry that speaks v0.1: `/v0.1/servers` is appended'),
  headers: z
    .record(headerName, secretText())
    .default({})
    .describe('sent with every request, such as an API key'),
  bearerTokenFile: z.string().optional().describe('a file with a token that is sent to the origin of `url`'),
  caCertPath: z.string().optional().describe('authorities to trust there, in place of the usual ones'),
  allowPrivateIP: z.boolean().default(false).describe('the registry may have a private address'),
  every: interval().default(600_000).describe('how often it is asked for what changed'),
  wholeEvery: duration()
    .default(86_400_000)
    .describe('how often it is read from the start, which is when a server that vanished is noticed'),
  timeout: duration(300_000).default(10_000).describe('the longest that one page may take'),
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
  summary: 'Reads another registry over its API v0.1: page by page first, then what changed.',
  provides: [Source],
  options,

  setup(gateway, given) {
    const { name, url, headers, every, wholeEvery, maxBytes } = given
    const insecure = insecureHttpAllowed()
    if (!insecure && isInsecure(new URL(url))) throw notSecure()
    for (const value of Object.values(headers)) gateway.scrubber.add(value)
    const fetcher = fetcherFor(gateway, given, insecure)
    gateway.onStop(() => fetcher.close())

    const place = url.replace(/\/+$/, '')
    const remote = new RemoteRegistry(place, { fetch: fetcher.fetch, headers, wholeEvery, maxBytes })
    gateway.provide(Source, {
      name,
      place: `http ${place}`,
      every,
      fetch: (context) => remote.read(context),
    })
  },
})

function fetcherFor(gateway: Gateway, given: z.output<typeof options>, allowInsecureHttp: boolean) {
  const { url, bearerTokenFile, caCertPath, allowPrivateIP, timeout, maxPageBytes } = given
  return createFetcher({
    caFile: caCertPath === undefined ? undefined : gateway.path(caCertPath),
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

const notSecure = (): ConfigError =>
  new ConfigError([
    {
      place: 'url',
      message:
        'expected https; plain http is for loopback, or with SALLYPORT_INSECURE_HTTP=1 in the environment',
    },
  ])
