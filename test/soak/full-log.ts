import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Served, Stage } from './stage.js'
import type { Tally } from './tally.js'

const REFUSALS = 200
/** Milliseconds that the disk stays full, and milliseconds until the log must report the missing lines. */
const FULL = 3_000
const REPORT_TIMEOUT = 10_000

interface LogContext {
  readonly stage: Stage
  readonly tally: Tally
}

/**
 * Lets no file of the proxy grow, as on a full disk. The proxy must still refuse callers without a token and serve
 * calls, and must log the number of missing lines once there is room.
 */
export async function fullLog(
  { stage: { proxy, proxyLog }, tally }: LogContext,
  round: number,
): Promise<void> {
  const [began, droppedBefore, size] = [Date.now(), await dropped(proxy), statSync(proxyLog).size]
  if (!limitFiles(proxy, String(size))) {
    process.stderr.write('skipped the full disk: prlimit is not installed\n')
    return
  }
  try {
    for (let index = 0; index < REFUSALS; index++) await requestRefused(proxy, tally)
    await pause(FULL)
  } finally {
    limitFiles(proxy, 'unlimited')
  }
  const lines = (await dropped(proxy)) - droppedBefore
  // In later rounds the log may only count the refusals, and write their sum at the end of a minute.
  if (lines === 0 && round > 0) return tally.right('full log')
  if (lines === 0) return tally.failed('full log', began, 'no dropped line was counted')
  while (Date.now() - began < FULL + REPORT_TIMEOUT) {
    if (reportedMissing(readFileSync(proxyLog, 'utf8').slice(size)) === lines) return tally.right('full log')
    await pause(100)
  }
  tally.failed('full log', began, `the log does not say that ${lines} lines are missing`)
}

async function requestRefused({ port }: Served, tally: Tally): Promise<void> {
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

/** The number of missing lines that the log reports. */
const reportedMissing = (text: string): number =>
  [...text.matchAll(/"lines":(\d+)/g)].reduce((sum, [, lines]) => sum + Number(lines), 0)

const limitFiles = ({ pid }: Served, size: string): boolean =>
  spawnSync('prlimit', [`--pid=${pid}`, `--fsize=${size}:`]).status === 0
