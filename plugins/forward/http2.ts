import { ConfigError, definePlugin } from 'sallyport'
import { proxyChoice, targetUrl } from 'sallyport/toolkit'
import { z } from 'zod'
import { Forwarder } from './forwarder.js'
import { Http2Transport } from './http2-transport.js'
import { forwarderOptions } from './options.js'
import { Target } from './target.js'
import { openTargetTls, tlsPaths } from './target-tls.js'

export default definePlugin({
  name: 'forward/http2',
  api: 1,
  summary: 'Forwards every request that no other route takes to one server that speaks HTTP/2.',
  options: z.strictObject({
    target: targetUrl()
      .refine(
        (url) => !/^http:/i.test(url),
        'expected an https URL: HTTP/2 is negotiated in the TLS handshake',
      )
      .describe(
        'the https URL of the server; its path stands for `/`, and its query goes before that of a request',
      ),
    ...forwarderOptions,
  }),
  async setup(gateway, options) {
    const target = new Target(options.target, gateway.scope)
    if (proxyChoice(process.env)(new URL(target.origin)) !== undefined) {
      const message = 'is behind an outgoing proxy, through which the gateway cannot speak HTTP/2'
      const expected = 'expected NO_PROXY with this host, or forward/http (no --target-http2)'
      throw new ConfigError([{ place: 'target', message: `${message}: ${expected}` }])
    }
    const tls = openTargetTls(gateway, options, target.secure)
    const transport = new Http2Transport(target, tls)
    await new Forwarder(gateway, options, target, transport, undefined).install()
  },
  facts: ({ path }, options) => ({ target: { url: options.target, ...tlsPaths(options, path) } }),

  async examine(examination, settings) {
    const { examineHttp2Target } = await import('./examine-http2.js')
    await examineHttp2Target(examination, settings)
  },
})
