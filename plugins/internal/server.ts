import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { FastifyRequest } from 'fastify'
import { definePlugin, Health, type HealthState, Listener, Refusal } from 'sallyport'
import { isInsecure, listenAddress } from 'sallyport/toolkit'
import { z } from 'zod'

export default definePlugin({
  name: 'internal/server',
  api: 1,
  summary: 'Opens the internal port with `/health`, `/readiness` and `/version`.',
  provides: [Listener],
  options: z.strictObject({
    address: listenAddress().default('127.0.0.1:8081').describe('`HOST:PORT` of the internal server'),
  }),

  setup(gateway, { address }) {
    gateway.provide(Listener, { port: 'internal', address })
    if (isLoopback(address)) {
      gateway.internal.addHook('onRequest', (request, _reply, done) => {
        refuseForeignHost(request)
        done()
      })
    }
    const healthChecks = gateway.use(Health)
    const version = versionFacts()

    gateway.internal.get('/health', () => ({ status: 'healthy' }))
    gateway.internal.get('/version', () => version)
    gateway.internal.get('/readiness', (_request, reply) => {
      const states = healthChecks().map((part) => [part.name, part.check()] as const)
      const checks = Object.fromEntries(states.filter(([, { status }]) => status !== 'ok'))
      if (!states.some(isDown)) return { status: 'ready', ...(Object.keys(checks).length > 0 && { checks }) }
      reply.code(503)
      return { error: 'service not ready', checks }
    })
  },
})

/**
 * By DNS rebinding the host name of a page can point to this machine, and the page could read this port. `Host` then
 * has that name.
 */
function refuseForeignHost({ raw }: FastifyRequest): void {
  const { host } = raw.headers
  if (host === undefined || isLoopback(host)) return
  throw new Refusal(403, 'HOST_FORBIDDEN', 'this gateway is not known by that host')
}

// `isInsecure` is false for plain http on loopback alone.
const isLoopback = (host: string): boolean =>
  URL.canParse(`http://${host}`) && !isInsecure(new URL(`http://${host}`))

const isDown = ([, { status }]: readonly [string, HealthState]): boolean => status === 'down'

function versionFacts(): Readonly<Record<string, string>> {
  const manifest = createRequire(import.meta.url).resolve('sallyport/package.json')
  const { version }: { version: string } = JSON.parse(readFileSync(manifest, 'utf8'))
  return {
    version,
    commit: process.env['SALLYPORT_COMMIT'] ?? 'unknown',
    build_date: process.env['SALLYPORT_BUILD_DATE'] ?? 'unknown',
    runtime_version: process.version,
    platform: `${process.platform}/${process.arch}`,
  }
}
