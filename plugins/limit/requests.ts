import { createHash } from 'node:crypto'
import { definePlugin, Health, Limiter, type LimitKey } from 'sallyport'
import { RedisConnection } from '#plugins/store/redis/connection.js'
import { Counter, takeAll } from './requests/counter.js'
import { MemorySpan } from './requests/memory-span.js'
import { networkOf } from './requests/network.js'
import { limitOptions } from './requests/options.js'
import { RedisCounters } from './requests/redis-counters.js'

export default definePlugin({
  name: 'limit/requests',
  api: 1,
  summary:
    'Limits how often each caller, or each address, may send requests: one too many is 429 with `Retry-After`.',
  provides: [Limiter, Health],
  options: limitOptions,

  async setup(gateway, { limits, redis }) {
    const { log } = gateway
    const refused = gateway.meter.counter('limited_requests_total', 'Requests that were over a limit')
    // With the limits in the name: a reload that changes them begins anew.
    const local = gateway.share(
      JSON.stringify(limits),
      () => {
        const spans: MemorySpan[] = []
        const open = (options: ConstructorParameters<typeof MemorySpan>[0]): MemorySpan => {
          const span = new MemorySpan(options)
          spans.push(span)
          return span
        }
        return { counters: limits.map((limit) => new Counter(limit, open)), spans }
      },
      ({ spans }) => {
        for (const span of spans) span.close()
      },
    )
    const connection = redis && (await RedisConnection.open(redis, gateway))
    const prefix = `${redis?.prefix}limit:${gateway.scope}:`
    const shared = connection && new RedisCounters({ connection, limits, prefix, log })

    const counted = (wait: number): number => {
      if (wait > 0) refused(1)
      return wait
    }
    const take = (key: LimitKey, cost: number): number | Promise<number> => {
      const names = limits.map(({ by }) => nameOf(by === 'caller' ? key.caller : key.address))
      if (names.every((name) => name === undefined)) return 0
      const count = (counters: readonly Counter[]): Promise<number> => takeAll(counters, names, cost)
      const here = (): Promise<number> => count(local.counters)
      return (shared === undefined ? here() : shared.count(count, here)).then(counted)
    }
    gateway.provide(Limiter, { take })
    if (connection === undefined || shared === undefined) return
    gateway.provide(Health, { name: gateway.id, check: () => shared.health() })
    gateway.onStart(() => connection.start())
    gateway.onStop(() => connection.close())
  },

  async examine(examination, { redis }) {
    if (redis === undefined) return
    const { examineRedis } = await import('#plugins/store/redis/probe.js')
    await examineRedis(examination, redis)
  },
})

const LONGEST = 128

/** Names of callers may be long, and there may be many of them. No caller or address begins like a digest. */
function nameOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (text.length <= LONGEST) return networkOf(text)
  return `#${createHash('sha256').update(text).digest('base64url')}`
}
