import { definePlugin } from 'sallyport'
import { targetUrl } from 'sallyport/toolkit'
import { z } from 'zod'
import { BalancedTransports } from './balanced-transport.js'
import { Forwarder } from './forwarder.js'
import { forwarderOptions } from './options.js'
import { plainHttpGuard } from './plain-http-guard.js'
import { Replicas } from './replicas.js'
import { Target } from './target.js'
import { openTargetTls, tlsPaths } from './target-tls.js'
import { Transports } from './transports.js'

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
    leaveOutFor: z
      .int()
      .nonnegative()
      .default(10_000)
      .describe(
        'milliseconds for which a replica that did not respond gets no requests, if there is another',
      ),
    ...forwarderOptions,
  }),
  async setup(gateway, options) {
    const { targets, allowPlainHttp } = options
    const origins = targets.map((url) => new URL(url).origin)
    const plainHttp = plainHttpGuard(targets, allowPlainHttp)
    const all = targets.map((url) => new Target(url, gateway.scope, origins))
    const [target] = all
    if (target === undefined) throw new Error('a list of targets was empty')
    const tls = openTargetTls(gateway, options, target.secure)
    const each = all.map((replica): readonly [string, Transports] => [
      replica.origin,
      new Transports(replica, gateway.log, plainHttp?.lookup, tls),
    ])
    // Shared, so that sessions stay with their replicas after a reload.
    const startedBy = gateway.share(gateway.id, () => new Map<string, string>())
    const replicas = new Replicas(origins, options.leaveOutFor, startedBy)
    const transports = new BalancedTransports(replicas, new Map(each))
    await new Forwarder(gateway, options, target, transports, plainHttp).install()
  },
  facts: ({ path }, { targets: [url = ''], ...options }) => ({ target: { url, ...tlsPaths(options, path) } }),

  async examine(examination, { targets, ...settings }) {
    const { examineTarget } = await import('./examine.js')
    for (const target of targets) await examineTarget(examination, { ...settings, target })
  },
})

/** Only the valid URLs: `targetUrl` reports the others. */
const parsed = (urls: readonly string[]): readonly URL[] =>
  urls.filter((url) => URL.canParse(url)).map((url) => new URL(url))
