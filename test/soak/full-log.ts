import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Served, Stage } from './stage.js'
import type { Tally } from './tally.js'

const KNOCKS = 200
/** Milliseconds that the disk stays full, and until the log has to say that it works again. */
const FULL = 3_000
const UNSAID = 10_000

interface Scene {
  readonly stage: Stage
  readonly tally: Tally
}

/**
 * No file of the proxy may grow, as on a full disk. Callers without a token are refused as ever, calls go on, and once
 * there is room the log says what is missing.
 */
export async function fullLog({ stage: { proxy, proxyLog }, tally }: Scene, round: number): Promise<void> {
  const [began, droppedBefore, size] = [Date.now(), await dropped(proxy), statSync(proxyLog).size]
  if (!limitFiles(proxy, String(size))) {
    process.stderr.write('a full disk was not tried: there is no prlimit here\n')
    return
  }
  try {
    for (let index = 0; index < KNOCKS; index++) await knock(proxy, tally)
    await pause(FULL)
  } finally {
    limitFiles(proxy, 'unlimited')
  }
  const lines = (await dropped(proxy)) - droppedBefore
  // Later rounds may find refusals counted already, whose sum comes at the end of a minute.
  if (lines === 0 && round > 0) return tally.right('full log')
  if (lines === 0) return tally.failed('full log', began, 'no line was dropped, or none of them counted')
  while (Date.now() - began < FULL + UNSAID) {
    if (saidMissing(readFileSync(proxyLog, 'utf8').slice(size)) === lines) return tally.right('full log')
    await pause(100)
  }
  tally.failed('full log', began, `the log does not say that ${lines} lines are missing`)
}

async function knock({ port }: Served, tally: Tally): Promise<void> {
  const began = Date.now()
  const answer = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST' }).catch(String)
  if (typeof answer === 'string') return tally.failed('refusals', began, answer)
  await answer.text()
  const { status, headers } = answer
  const challenge = headers.get('www-authenticate')
  if (status === 401 && challenge?.startsWith('Bearer') === true) return tally.right('refusals')
  tally.failed('refusals', began, `${status} with the challenge ${challenge}`)
}

async function dropped({ internal }: Served): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${internal}/metrics`)).text()
  return Number(/^sallyport_log_lines_dropped_total (\d+)$/m.exec(text)?.[1] ?? 0)
}

/** How many lines are missing, by what the log says itself. */
const saidMissing = (text: string): number =>
  [...text.matchAll(/"lines":(\d+)/g)].reduce((sum, [, lines]) => sum + Number(lines), 0)

const limitFiles = ({ pid }: Served, size: string): boolean =>
  spawnSync('prlimit', [`--pid=${pid}`, `--fsize=${size}:`]).status === 0
