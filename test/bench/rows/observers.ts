import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Contestant } from '../contestant.js'
import type { Figure } from '../results.js'
import type { World } from '../world.js'
import { callTool, measureWithPlugins } from './with-plugins.js'

export const AUDIT = 'audit/file'
export const TRACE = 'trace/otlp, none sampled'

const ROW = {
  row: 'observers',
  title: 'a call (RS256 in, a bearer and two headers out) that is written down, or traced',
}

/** The same calls, unobserved, with a line in a file for each, and with a trace that nobody looks at. */
export function measureObservers(world: World): Promise<readonly Figure[]> {
  const path = join(world.home, 'audit.jsonl')
  // Nothing is sent there.
  const url = 'http://127.0.0.1:9/v1/traces'
  const plugins = [
    { name: AUDIT, plugins: [{ use: 'audit/file', with: { path, maxBytes: '1GiB' } }] },
    { name: TRACE, plugins: [{ use: 'trace/otlp', with: { url, sample: 0 } }] },
  ]
  return measureWithPlugins(world, ROW, plugins, (contestant, token) => check(contestant, token, path))
}

/** Nobody is fast by leaving work out. */
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
