import { definePlugin, Health, type LimitAnswer, Limiter } from 'sallyport'
import { loadDriver } from '#plugins/store/redis/client.js'
import { RedisConnection } from '#plugins/store/redis/connection.js'
import { type Charge, Charges } from './requests/charges.js'
import { Counter, countAll, type ExceededLimit } from './requests/counter.js'
import { MemorySpan } from './requests/memory-span.js'
import { limitOptions } from './requests/options.js'
import { RedisCounters } from './requests/redis-counters.js'

export default definePlugin({
  name: 'limit/requests',
  api: 1,
  summary:
    'Limits how often each caller or address may send requests, and how often each tool may be called: a request over a limit gets a 429 with `Retry-After`.',
  provides: [Limiter, Health],
  omits: ({ redis }) => (redis === undefined ? [Health] : []),
  options: limitOptions,

  async setup(gateway, { limits, redis }) {
    const { log } = gateway
    const refused = gateway.meter.counter('limited_requests_total', 'Requests that were over a limit')
    // The name holds the limits: a reload that changes them starts new counts.
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

    const answer = (exceeded: ExceededLimit | undefined): LimitAnswer => {
      if (exceeded === undefined) return 0
      refused(1)
      return { wait: exceeded.wait, limit: `limits[${exceeded.index}]` }
    }
    const charges = new Charges(limits)
    const count = (
      charged: readonly Charge[],
      before: readonly Charge[],
    ): LimitAnswer | Promise<LimitAnswer> => {
      if (charged.length === 0) return 0
      const countIn = (counters: readonly Counter[]) => countAll(counters, charged, before)
      const countLocally = () => countIn(local.counters)
      return (shared === undefined ? countLocally() : shared.count(countIn, countLocally)).then(answer)
    }
    gateway.provide(Limiter, {
      readsBodies: charges.byTool,
      take: (key, cost) => count(charges.ofRequest(key, cost), []),
      takeCalls(key, message) {
        const charged = charges.ofCalls(key, message)
        return charged.length === 0 ? 0 : count(charged, charges.ofRequest(key, 1))
      },
    })
    if (connection === undefined || shared === undefined) return
    gateway.provide(Health, { name: gateway.id, check: () => shared.health() })
    gateway.onStart(() => connection.start())
    gateway.onStop(() => connection.close())
  },

  importPackages: async ({ redis }) => redis && loadDriver(),

  async examine(examination, { redis }) {
    if (redis === undefined) return
    const { examineRedis } = await import('#plugins/store/redis/probe.js')
    await examineRedis(examination, redis)
  },
})
