import { Pool } from 'undici'
import { type Contestant, cpuSeconds } from './contestant.js'

export interface Measured {
  /** Microseconds of the server's processor time for a request. */
  readonly cpu: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly perSecond: number
}

/** Sends so many requests, so many at once, and measures the server and the answers. */
export async function load(
  contestant: Contestant,
  requests: number,
  method: 'GET' | 'POST',
  connections = 16,
): Promise<Measured> {
  const { origin, pathname, search } = new URL(contestant.url)
  const pool = new Pool(origin, { connections, pipelining: 1 })
  const body =
    method === 'POST'
      ? JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x'.repeat(120) } })
      : null
  const headers = { 'content-type': 'application/json', accept: 'application/json', ...contestant.headers }
  const times: number[] = []
  let left = requests

  const before = cpuSeconds(contestant)
  const began = performance.now()
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const asked = performance.now()
      const answer = await pool.request({ path: pathname + search, method, headers, body })
      await answer.body.dump()
      if (answer.statusCode !== 200) throw new Error(`${contestant.name} answered ${answer.statusCode}`)
      times.push(performance.now() - asked)
    }
  }
  await Promise.all(Array.from({ length: connections }, caller))
  const seconds = (performance.now() - began) / 1000
  const cpu = cpuSeconds(contestant) - before
  await pool.close()

  times.sort((a, b) => a - b)
  const at = (part: number): number => times[Math.floor(times.length * part)] ?? 0
  return { cpu: (cpu / requests) * 1e6, p50: at(0.5), p99: at(0.99), perSecond: requests / seconds }
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
