import { apache } from './proxies/apache.js'
import { haproxy } from './proxies/haproxy.js'
import { floor, sallyport } from './proxies/own.js'
import type { CallResult, Figure, GoalResult, Results } from './results.js'
import { AUDIT, TRACE } from './rows/observers.js'
import { POLICY } from './rows/policy.js'
import { bareFastify } from './rows/registry.js'
import { ratio } from './statistics.js'

type Found = Pick<Results, 'calls' | 'figures'>

interface Goal {
  readonly what: string
  /** The most that the value may be. */
  readonly target: number
  readonly unit: GoalResult['unit']
  /** Undefined when the run did not measure it. */
  value(found: Found): number | undefined
}

/** The result for every goal that the run has numbers for. */
export function goalResults(found: Found): GoalResult[] {
  return [...goals, ...bridgeGoals(found)].flatMap(({ what, target, unit, value }) => {
    const is = value(found)
    return is === undefined ? [] : [{ what, value: is, target, unit, held: is <= target }]
  })
}

const find = ({ calls }: Found, row: string, name: string): CallResult | undefined =>
  calls.find((one) => one.row === row && one.name === name)

/** The processor time of a call through one contestant, as a multiple of another's. */
const cpu =
  (row: string, one: string, other: string) =>
  (found: Found): number | undefined => {
    const [a, b] = [find(found, row, one), find(found, row, other)]
    return a === undefined || b === undefined ? undefined : ratio(a.cpu, b.cpu)
  }

const halfLoadTail =
  (row: string, one: string, other: string) =>
  (found: Found): number | undefined => {
    const [a, b] = [find(found, row, one)?.atHalf, find(found, row, other)?.atHalf]
    return a === undefined || b === undefined ? undefined : a.p99 / b.p99
  }

const figure =
  (row: string, name: string, unit: Figure['unit']) =>
  ({ figures }: Found): number | undefined =>
    figures.find((one) => one.row === row && one.name === name && one.unit === unit)?.value

/** Each form of a registry answer, against a route that has the same bytes in memory. */
const registryGoals = ['list', 'search', 'get'].flatMap((question) =>
  ['', '-gzip', '-304'].map((form): Goal => {
    const row = `registry-${question}${form}`
    return {
      what: `CPU of a call (\`${row}\`) against a bare Fastify route`,
      target: 2,
      unit: 'times',
      value: cpu(row, 'registry', bareFastify),
    }
  }),
)

const startGoals = ['proxy', 'registry'].flatMap((name): Goal[] => [
  {
    what: `start of the ${name} until ready against \`node -e 0\``,
    target: 9,
    unit: 'times',
    value: figure('start', name, 'times'),
  },
  {
    what: `memory of the ${name} when it is ready`,
    target: 100,
    unit: 'MB',
    value: figure('start', name, 'MB'),
  },
])

/** In every measurement of the stdio bridges, ours must not be behind. */
function bridgeGoals({ figures }: Found): Goal[] {
  return figures
    .filter(({ row, unit }) => row === 'stdio' && unit === 'times')
    .map(({ title, value }) => ({ what: title, target: 1, unit: 'times', value: () => value }))
}

const goals: readonly Goal[] = [
  {
    what: 'CPU of a call (`rs256`) against HAProxy',
    target: 1.5,
    unit: 'times',
    value: cpu('rs256', sallyport.name, haproxy.name),
  },
  {
    what: 'CPU of a call (`rs256`) against the runtime floor',
    target: 1.4,
    unit: 'times',
    value: cpu('rs256', sallyport.name, floor.name),
  },
  {
    what: 'CPU of a call (`rs256`) against Apache',
    target: 1,
    unit: 'times',
    value: cpu('rs256', sallyport.name, apache.name),
  },
  {
    what: 'CPU of a call (`introspection`) against Apache',
    target: 1,
    unit: 'times',
    value: cpu('introspection', sallyport.name, apache.name),
  },
  {
    what: 'p99 at half load (`rs256`) against HAProxy',
    target: 2,
    unit: 'times',
    value: halfLoadTail('rs256', sallyport.name, haproxy.name),
  },
  {
    what: 'first event of a stream, behind that from the target itself',
    target: 2,
    unit: 'ms',
    value: figure('events', sallyport.name, 'ms'),
  },
  {
    what: 'memory of each of 1000 open streams',
    target: 40,
    unit: 'KB',
    value: figure('streams', sallyport.name, 'KB'),
  },
  ...['down', 'up'].map(
    (way): Goal => ({
      what: `growth over a body of 100 MB ${way}`,
      target: 32,
      unit: 'MB',
      value: figure(`body-${way}`, sallyport.name, 'MB'),
    }),
  ),
  {
    what: 'CPU that 100 rules for tools add to a call',
    target: 5,
    unit: 'µs',
    value: figure('policy', POLICY, 'µs'),
  },
  {
    what: 'CPU that a line in an audit file adds to a call',
    target: 10,
    unit: 'µs',
    value: figure('observers', AUDIT, 'µs'),
  },
  {
    what: 'CPU that a trace adds to a call, which is not sampled',
    target: 5,
    unit: 'µs',
    value: figure('observers', TRACE, 'µs'),
  },
  ...registryGoals,
  ...startGoals,
]
