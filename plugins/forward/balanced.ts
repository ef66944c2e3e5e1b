import { ConfigError, definePlugin } from 'sallyport'
import { proxyChoice, targetUrl } from 'sallyport/toolkit'
import { z } from 'zod'
import { connectionsFor } from './balanced-connections.js'
import { BalancedTransport } from './balanced-transport.js'
import { Forwarder } from './forwarder.js'
import { forwarderOptions } from './options.js'
import { plainHttpGuard } from './plain-http-guard.js'
import { Replicas } from './replicas.js'
import { Target } from './target.js'
import { openTargetTls, placesOf } from './target-tls.js'

export default definePlugin({
  name: 'forward/balanced',
  api: 1,
  summary: 'Forwards every request that no other route takes to one of several replicas of a server.',
  options: z.strictObject({
    targets: z
      .array(targetUrl())
      .min(1)
      .refine(
        (urls) =>
          new Set(parsed(urls).map(({ protocol, pathname, search }) => protocol + pathname + search)).size <=
          1,
        'expected the same scheme, path and query in each',
      )
      .refine(
        (urls) => new Set(parsed(urls).map(({ origin }) => origin)).size === parsed(urls).length,
        'expected each once',
      )
      .describe(
        'the URLs of the replicas, with the same path, which stands for `/`, and the same query, which goes before that of a request',
      ),
    http2: z
      .boolean()
      .default(false)
      .describe('speak HTTP/2 to replicas that offer it; needs https, without an outgoing proxy'),
    leaveOutFor: z
      .int()
      .nonnegative()
      .default(10_000)
      .describe('milliseconds for which a replica that did not answer gets no requests, if there is another'),
    ...forwarderOptions,
  }),
  async setup(gateway, options) {
    const { targets, http2, allowPlainHttp } = options
    const [first = ''] = targets
    const origins = targets.map((url) => new URL(url).origin)
    const target = new Target(first, gateway.scope, origins)
    const plainHttp = plainHttpGuard(targets, allowPlainHttp)
    const proxy = commonProxy(targets)
    if (http2 && (!target.secure || proxy !== undefined)) {
      throw new ConfigError([{ place: 'http2', message: 'expected https targets and no outgoing proxy' }])
    }
    const tls = openTargetTls(gateway, options, target.secure)
    const connections = await connectionsFor(options, { plainHttp, tls, proxy })
    // A reload must not end the sessions of replicas that stay.
    const startedBy = gateway.share(gateway.id, () => new Map<string, string>())
    const replicas = new Replicas(origins, options.leaveOutFor, startedBy)
    const transport = new BalancedTransport(replicas, connections)
    await new Forwarder(gateway, options, target, transport, plainHttp).install()
  },
  facts: ({ path }, { targets: [url = ''], ...options }) => ({ target: { url, ...placesOf(options, path) } }),

  async examine(examination, { targets, ...settings }) {
    const { examineTarget } = await import('./examine.js')
    for (const target of targets) await examineTarget(examination, { ...settings, target })
  },
})

/** Those that are URLs: of the others it is told that they are none. */
const parsed = (urls: readonly string[]): readonly URL[] =>
  urls.filter((url) => URL.canParse(url)).map((url) => new URL(url))

function commonProxy(targets: readonly string[]): string | undefined {
  const choose = proxyChoice(process.env)
  const [proxy, ...others] = new Set(targets.map((target) => choose(new URL(target))))
  if (others.length === 0) return proxy
  const message = 'expected targets that are all reached directly, or all through the same outgoing proxy'
  throw new ConfigError([{ place: 'targets', message }])
}
