import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Contestant } from '../contestant.js'
import type { BenchContext } from '../context.js'
import type { Figure } from '../results.js'
import { callTool, measureWithPlugins } from './with-plugins.js'

export const AUDIT = 'audit/file'
export const TRACE = 'trace/otlp, none sampled'

const ROW = {
  row: 'observers',
  title: 'a call (RS256 in, a bearer and two headers out) that is written down, or traced',
}

/** Measures calls without observers, with an audit line for each, and with a trace that is not sampled. */
export function measureObservers(context: BenchContext): Promise<readonly Figure[]> {
  const path = join(context.home, 'audit.jsonl')
  // Nothing is sent there: no trace is sampled.
  const url = 'http://127.0.0.1:9/v1/traces'
  const plugins = [
    { name: AUDIT, plugins: [{ use: 'audit/file', with: { path, maxBytes: '1GiB' } }] },
    { name: TRACE, plugins: [{ use: 'trace/otlp', with: { url, sample: 0 } }] },
  ]
  return measureWithPlugins(context, ROW, plugins, (contestant, token) => check(contestant, token, path))
}

/** Checks that the audit really writes its line. */
async function check(contestant: Contestant, token: string, path: string): Promise<void> {
  const status = await callTool(contestant, token, 'checked')
  if (status !== 200) throw new Error(`${contestant.name}: a call was answered with ${status}`)
  if (contestant.name !== AUDIT) return
  for (let tries = 0; tries < 50; tries++) {
    if (readFileSync(path, 'utf8').includes('"name":"checked"')) return
    await pause(100)
  }
  throw new Error(`${contestant.name}: a call is not in ${path}`)
}
