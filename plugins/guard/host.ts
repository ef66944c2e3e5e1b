import { definePlugin, Guard, PublicAddress } from 'sallyport'
import { loopbackHosts } from 'sallyport/toolkit'
import { z } from 'zod'
import { notAllowed } from './not-allowed.js'
import { allowLatest } from './public.js'

const HOST = /^[^\s/?#@*]+$/
const EXPECTED_HOST =
  'expected one host as `Host` has it, with its port if it has one, such as registry.example.com:8443'

export default definePlugin({
  name: 'guard/host',
  api: 1,
  summary:
    'Refuses requests for hosts that are not listed, such as those of a page that rebinds its own name to this machine.',
  provides: [Guard],
  options: z.strictObject({
    allowed: z
      .array(z.string().regex(HOST, EXPECTED_HOST))
      .default([])
      .describe('values of `Host`, compared exactly except for case'),
    loopback: z
      .boolean()
      .default(false)
      .describe('allow `localhost`, `127.0.0.1` and `[::1]` with the port of the gateway'),
    public: z.boolean().default(false).describe("allow the public address of the list's tunnel"),
  }),

  setup(gateway, options) {
    const allowed = new Set(options.allowed.map((host) => host.toLowerCase()))
    if (options.loopback) {
      gateway.onReady((addresses) => {
        for (const host of loopbackHosts(addresses)) allowed.add(host)
      })
    }
    const addresses = gateway.use(PublicAddress)
    if (options.public) {
      gateway.onStart(() => {
        for (const address of addresses()) allowLatest(allowed, address, (origin) => new URL(origin).host)
      })
    }
    gateway.provide(Guard, ({ raw, originalUrl }) => {
      const host = raw.headers.host?.toLowerCase()
      const authority = authorityOf(originalUrl)
      if (host !== undefined && allowed.has(host) && (authority === undefined || allowed.has(authority)))
        return
      throw notAllowed('host', [host, authority].filter((name) => name !== undefined).join(', '))
    })
  },
})

/** The host in an absolute request target, which may differ from the `Host` header. */
const authorityOf = (target: string): string | undefined =>
  /^https?:\/\/([^/?#]*)/i.exec(target)?.[1]?.toLowerCase()
