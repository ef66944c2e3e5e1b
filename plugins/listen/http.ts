import { definePlugin, type Gateway, Listener, type ListenerTls, ResourceMetadata } from 'sallyport'
import { addressRange, certificatesIn, duration, LONGEST_WAIT, listenAddress } from 'sallyport/toolkit'
import { z } from 'zod'
import { type TlsOptions, tlsOptions } from './http/options.js'
import { openTls } from './http/tls.js'

export default definePlugin({
  name: 'listen/http',
  api: 1,
  summary: 'Opens the main port.',
  provides: [Listener, ResourceMetadata],
  omits: ({ tls }) => (binds(tls) ? [] : [ResourceMetadata]),
  options: z.strictObject({
    address: listenAddress().describe('`HOST:PORT`; port 0 takes a free one'),
    maxConnections: z.int().positive().optional().describe('sockets open at once; further ones are closed'),
    headersTimeout: z
      .int()
      .positive()
      .default(20_000)
      .describe('milliseconds for a caller to send its headers'),
    drainDelay: duration(LONGEST_WAIT)
      .optional()
      .describe(
        'how long the port still accepts connections after a stop is requested, while `/readiness` is 503; 0 by default, and 5s in Kubernetes',
      ),
    tls: tlsOptions
      .optional()
      .describe(
        'speak https: `cert`, `key`, `clientCa`, `clientCertificate`, `minVersion`, `modernCiphers` (`false`: TLS 1.2 also with ciphers without forward secrecy or AEAD)',
      ),
    trustedProxies: z
      .array(addressRange())
      .default([])
      .describe(
        'addresses and ranges (CIDR) of the proxies in front whose `Forwarded` and `X-Forwarded-For` the gateway trusts',
      ),
  }),

  setup(gateway, { tls, drainDelay = defaultDrainDelay(), ...options }) {
    const secure = tls && openTls(gateway, tls)
    gateway.provide(Listener, {
      port: 'main',
      drainDelay,
      ...options,
      ...(secure !== undefined && { tls: secure }),
    })
    if (secure !== undefined) measureEnd(gateway, secure)
    if (binds(tls)) gateway.provide(ResourceMetadata, { tls_client_certificate_bound_access_tokens: true })
  },

  async examine(examination, { address, tls }) {
    if (tls === undefined) return
    const { examineTls } = await import('./http/examine.js')
    examineTls(examination, address, tls)
  },
})

/** Whether tokens can be bound to the certificate of a caller. */
const binds = (tls: TlsOptions | undefined): boolean => tls !== undefined && tls.clientCertificate !== 'none'

// Kubernetes stops a pod while its Services still lead to it.
const defaultDrainDelay = (): number => (process.env['KUBERNETES_SERVICE_HOST'] === undefined ? 0 : 5_000)

/** Measures when the first certificate that the port sends to clients ends, so that an alert can come before. */
export function measureEnd({ meter, onStart }: Pick<Gateway, 'meter' | 'onStart'>, tls: ListenerTls): void {
  const end = meter.gauge(
    'certificate_not_after_timestamp_seconds',
    'When the first certificate in the chain of the main port expires',
  )
  const measure = (): void => {
    const ends = certificatesIn(tls.certificates.cert).map(({ validTo }) => Date.parse(validTo))
    if (ends.length > 0) end(Math.min(...ends) / 1000)
  }
  tls.onChange(measure)
  onStart(measure)
}
