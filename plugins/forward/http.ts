import { definePlugin } from 'sallyport'
import { targetUrl } from 'sallyport/toolkit'
import { z } from 'zod'
import { Forwarder } from './forwarder.js'
import { forwarderOptions } from './options.js'
import { plainHttpGuard } from './plain-http-guard.js'
import { Target } from './target.js'
import { openTargetTls, tlsPaths } from './target-tls.js'
import { Transports } from './transports.js'

export default definePlugin({
  name: 'forward/http',
  api: 1,
  summary: 'Forwards every request that no other route takes to one server, byte for byte.',
  options: z.strictObject({
    target: targetUrl().describe(
      'the URL of the server; its path stands for `/`, and its query goes before that of a request',
    ),
    ...forwarderOptions,
  }),
  async setup(gateway, options) {
    const target = new Target(options.target, gateway.scope)
    const plainHttp = plainHttpGuard([options.target], options.allowPlainHttp)
    const tls = openTargetTls(gateway, options, target.secure)
    const transports = new Transports(target, gateway.log, plainHttp?.lookup, tls)
    await new Forwarder(gateway, options, target, transports, plainHttp).install()
  },
  facts: ({ path }, options) => ({ target: { url: options.target, ...tlsPaths(options, path) } }),

  async examine(examination, settings) {
    const { examineTarget } = await import('./examine.js')
    await examineTarget(examination, settings)
  },
})
