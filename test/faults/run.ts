import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '#kit/captured-log.js'
import { call, send } from '../plugins/forward/proxied.js'
import { type DisturbanceContext, disturbances } from './disturbances.js'
import { keysIn, pagesOf, readers } from './reading.js'
import { TIMEOUT } from './replicas.js'
import type { Report } from './report.js'
import type { Stage } from './stage.js'

const READERS = 4
/** Milliseconds between faults, at most. */
const REST = 6_000
/** Milliseconds between two changes of the source, and between two calls through each proxy. */
const EVERY = 500
/** After so many calls the target refuses all tokens, so that the proxies refresh them. */
const CALLS_OF_A_TOKEN = 10
const MOST_REPORTED = 20

/** Causes one fault after the other until the signal is aborted, then checks the bounds. */
export async function disturbed(
  context: DisturbanceContext,
  only: readonly string[],
  signal: AbortSignal,
): Promise<Report> {
  const { stage, random } = context
  const began = performance.now()
  const reads = readers(stage.url, READERS)
  const writes = changes(stage, random)
  const calls = callers(stage)
  const { refreshes: refreshed } = stage.login.counts
  const faults: Record<string, number> = {}
  const names = Object.keys(disturbances).filter((name) => only.length === 0 || only.includes(name))
  while (!signal.aborted) {
    await pause(random() * REST, undefined, { signal }).catch(() => {})
    if (signal.aborted) break
    const name = names[Math.floor(random() * names.length)] ?? ''
    await disturbances[name]?.(context)
    faults[name] = (faults[name] ?? 0) + 1
    const seconds = Math.round((performance.now() - began) / 1000)
    const { failures } = reads
    process.stderr.write(
      `${seconds} s: ${name}; ${reads.count()} reads, ${failures.length} failed; ${writes.acknowledged().length} documents\n`,
    )
  }
  await writes.stop()
  const isReady = await Promise.all(stage.registries.map((replica) => replica.ready().then(yes, no)))
  const isRead = await eventually(() => isSynced(stage), TIMEOUT).catch(no)
  const served = await settled(stage)
  await reads.stop()
  await calls.stop()

  const keys = served.flatMap((pages) => keysIn(pages))
  const times = new Map<string, number>()
  for (const key of keys) times.set(key, (times.get(key) ?? 0) + 1)
  const replicas = served.length
  const lost = writes.acknowledged().filter((key) => (times.get(key) ?? 0) < replicas)
  const doubled = [...times].filter(([, count]) => count > replicas).map(([key]) => key)
  const [first, ...others] = served.map((pages) => JSON.stringify(pages))
  const source = stage.upstream.keys()
  const { counts: logins } = stage.login
  const bounds = [
    {
      what: 'registries that are not ready at the end',
      found: isReady.filter((one) => !one).length,
      expected: 0,
    },
    { what: 'sources that cannot be read at the end', found: isRead ? 0 : 1, expected: 0 },
    {
      what: 'documents of the source that are not served',
      found: source.filter((key) => !times.has(key)).length,
      expected: 0,
    },
    {
      what: 'documents that the source never had',
      found: [...times.keys()].filter((key) => !source.includes(key)).length,
      expected: 0,
    },
    { what: 'reads that failed', found: reads.failures.length, expected: 0 },
    { what: 'documents that were read and are lost', found: lost.length, expected: 0 },
    { what: 'documents that are there twice', found: doubled.length, expected: 0 },
    {
      what: 'replicas that differ in bytes or ETags',
      found: others.filter((one) => one !== first).length,
      expected: 0,
    },
    { what: 'logins', found: logins.logins, expected: 1 },
    { what: 'refresh tokens that were redeemed twice', found: logins.refused, expected: 0 },
    {
      what: 'refreshes beyond one for each refusal',
      found: Math.max(0, logins.refreshes - refreshed - calls.refusals()),
      expected: 0,
    },
    { what: 'proxies that do not work at the end', found: await broken(stage), expected: 0 },
  ]
  return {
    minutes: (performance.now() - began) / 60_000,
    faults,
    counts: {
      reads: reads.count(),
      'milliseconds of the slowest read': reads.slowest(),
      'requests to the source': stage.upstream.asked(),
      'documents that were read': writes.acknowledged().length,
      'documents that are served': times.size,
      'calls through the proxies': calls.count(),
      'calls that failed during faults': calls.failed(),
      refreshes: logins.refreshes,
    },
    bounds,
    failures: [...reads.failures, ...lost, ...doubled].slice(0, MOST_REPORTED),
    held: bounds.every(({ found, expected }) => found === expected),
  }
}

/** Changes the source all the time, and requests a sync from one replica after the other. */
function changes({ upstream, registries }: Stage, random: () => number) {
  const acknowledged = new Set<string>()
  let stopped = false
  const all = (async () => {
    for (let round = 0; !stopped; round++) {
      upstream.change(random)
      const there = upstream.keys()
      // A replica that does not lead responds with 202: then nothing is acknowledged.
      if ((await registries[round % registries.length]?.sync()) === 200)
        for (const key of there) acknowledged.add(key)
      await pause(EVERY)
    }
  })()
  return {
    acknowledged: () => [...acknowledged],
    stop: () => {
      stopped = true
      return all
    },
  }
}

/** Calls through each proxy. A call may fail while the database is unreachable: the proxy cannot refresh a token. */
function callers({ proxies, login }: Stage) {
  let [count, failed, refusals, stopped] = [0, 0, 0, false]
  const all = (async () => {
    while (!stopped) {
      await Promise.all(
        proxies.map(async ({ main }) => {
          const answer = await send(`http://${main}`, call(++count)).catch(() => undefined)
          if (answer?.status !== 200) failed++
        }),
      )
      if (count % CALLS_OF_A_TOKEN === 0) {
        refusals++
        login.refuseTokens()
      }
      await pause(EVERY)
    }
  })()
  return {
    count: () => count,
    failed: () => failed,
    refusals: () => refusals,
    stop: () => {
      stopped = true
      return all
    },
  }
}

const [yes, no] = [() => true, () => false]

/** Whether the leader could read the source now. */
async function isSynced({ registries }: Stage): Promise<boolean> {
  for (const replica of registries) if ((await replica.sync()) === 200) return true
  return false
}

/** What each replica serves, once they are equal, or after the timeout. */
async function settled({ registries }: Stage) {
  const look = () => Promise.all(registries.map(({ main }) => pagesOf(main).catch(() => [])))
  const equal = async () => {
    const found = await look()
    return new Set(found.map((pages) => JSON.stringify(pages))).size === 1 && found
  }
  return eventually(equal, TIMEOUT).catch(look)
}

const broken = async ({ proxies }: Stage): Promise<number> => {
  const works = async ({ main }: { readonly main: string }) =>
    (await send(`http://${main}`, call(1))).status === 200
  const each = proxies.map((proxy) => eventually(() => works(proxy), TIMEOUT).catch(() => false))
  return (await Promise.all(each)).filter((one) => !one).length
}
