import { Limiter, type LimitKey } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

contractSuite('limit/requests', () => ({
  list: [
    {
      use: 'limit/requests',
      with: {
        limits: [
          { by: 'caller', rate: '3/1m' },
          { by: 'address', rate: '5/1m' },
          { by: 'caller+tool', rate: '9/1m' },
        ],
      },
    },
  ],
}))

/** So many for each key. */
function counting(most: number, nameOf: (key: LimitKey) => string, costOf = (cost: number) => cost): Limiter {
  const counts = new Map<string, number>()
  return {
    take(key, cost) {
      const count = (counts.get(nameOf(key)) ?? 0) + costOf(cost)
      counts.set(nameOf(key), count)
      return count > most ? 1_000 : 0
    },
  }
}

const whole = ({ caller = '', address }: LimitKey): string => JSON.stringify([caller, address])

findsFaults(Limiter, {
  'a limiter that returns a boolean': {
    code: 'LIMIT_MALFORMED',
    make: () => ({ take: async ({ caller }: LimitKey) => (caller === undefined ? true : 0) }),
  },
  'a limiter that counts all callers together': {
    code: 'LIMIT_SHARED',
    make: () => counting(5, () => 'all'),
  },
  'a limiter that counts by a part of the name': {
    code: 'LIMIT_SHARED',
    make: () => counting(5, ({ caller = '' }) => caller.slice(0, 10)),
  },
  'a limiter that counts requests': {
    code: 'LIMIT_COST',
    make: () => counting(5, whole, () => 1),
  },
  'a limiter that returns nothing for calls': {
    code: 'LIMIT_CALLS_MALFORMED',
    make: () => ({ ...counting(5, whole), takeCalls: () => undefined as never }),
  },
  'a limiter that returns a boolean for calls': {
    code: 'LIMIT_CALLS_MALFORMED',
    make: () => ({ ...counting(5, whole), takeCalls: async () => true as never }),
  },
  'a limiter that returns a limit without a wait': {
    code: 'LIMIT_CALLS_MALFORMED',
    make: () => ({ ...counting(5, whole), takeCalls: () => ({ limit: 'limits[0]' }) as never }),
  },
  'a limiter that counts a batch once': {
    code: 'LIMIT_BATCH',
    make: () => ({ ...counting(5, whole), takeCalls: () => 0 }),
  },
})
