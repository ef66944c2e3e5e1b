import { ConfigError, definePlugin, type Gateway, Tracer } from 'sallyport'
import { openCertificates, secretFrom } from 'sallyport/toolkit'
import { type OtlpOptions, otlpOptions } from './otlp/options.js'
import { loadPackages } from './otlp/packages.js'
import { type Destination, SpanExports } from './otlp/span-exports.js'
import { Spans } from './otlp/spans.js'
import { OtlpTracer } from './otlp/tracer.js'

export default definePlugin({
  name: 'trace/otlp',
  api: 1,
  summary: 'Exports traces of a share of the requests to a collector, by OTLP over HTTP.',
  provides: [Tracer],
  options: otlpOptions,

  async setup(gateway, options) {
    const packages = await loadPackages()
    const exports = new SpanExports(packages, destinationOf(gateway, options), gateway)
    gateway.onStart(() => exports.open())
    gateway.onStop(() => exports.close())
    const spans = new Spans(packages, options.serviceName)
    gateway.provide(Tracer, new OtlpTracer(options, packages, spans, exports))
  },

  importPackages: loadPackages,

  async examine(examination, options) {
    const { examineCollector } = await import('./otlp/examine.js')
    await examineCollector(examination, options)
  },
})

function destinationOf(gateway: Gateway, options: OtlpOptions): Destination {
  const { log, scrubber } = gateway
  const { url, headers, bearerTokenFile, caCertPath } = options
  for (const value of Object.values(headers)) scrubber.add(value)
  const token = secretFrom({ file: gateway.path(bearerTokenFile) }, { log, scrubber, check: refuseNoToken })
  gateway.onStop(() => token?.close())
  const sent = () =>
    token === undefined ? headers : { ...headers, authorization: `Bearer ${token.reveal()}` }
  const certificates = caCertPath === undefined ? undefined : openCertificates(gateway.path(caCertPath), log)
  gateway.onStop(() => certificates?.close())
  return { url, headers: sent, certificates }
}

function refuseNoToken(text: string, place: string): void {
  if (/^[\x21-\x7e]+$/.test(text)) return
  const message = 'holds no token: one line without white space is expected'
  throw new ConfigError([{ place, message }])
}
