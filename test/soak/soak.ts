import { setTimeout as pause } from 'node:timers/promises'
import { bin } from '#kit/started-program.js'
import { endAll } from '../bench/contestant.js'
import { moveToLoadCore } from '../bench/cores.js'
import { runCommand, UsageError } from '../bench/usage-error.js'
import { Calls } from './calls.js'
import { faults, type SoakContext } from './faults.js'
import { OpenFiles } from './open-files.js'
import { HELP, type Options, readOptions } from './options.js'
import { asText, type Report } from './report.js'
import { createStage } from './stage.js'
import { HeldStreams } from './streams.js'
import { Tally } from './tally.js'
import { Watch } from './watch.js'

const HELD_STREAMS = 20
/** Milliseconds between faults. */
const REST = 5_000
/** The part of the run in which processes may still grow, and its minimum in milliseconds. */
const [WARM_UP, LEAST_WARM_UP] = [0.25, 45_000]

const print = (text: string): void => void process.stdout.write(`${text}\n`)
process.once('exit', endAll)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

await runCommand(async () => {
  const options = readOptions(process.argv.slice(2))
  if (options.help) {
    print(HELP)
    return
  }
  const report = await soaked(options)
  print(options.json ? JSON.stringify(report, null, 2) : asText(report))
  process.exitCode = report.held ? 0 : 1
})

async function soaked({ minutes, bin: other }: Options): Promise<Report> {
  if (process.platform !== 'linux')
    throw new UsageError('memory and handles are read from /proc, which Linux alone has')
  moveToLoadCore()
  const stage = await createStage(other ?? bin)
  const tally = new Tally()
  const calls = new Calls(stage, tally)
  await calls.renewTokens()
  const held = new HeldStreams(stage.proxy.port, () => calls.token, tally)
  const watches = [stage.proxy, stage.registry].map((served) => new Watch(served, tally))
  const files = [stage.proxy, stage.registry].map((served) => new OpenFiles(served))

  await calls.capacity(5)
  const rate = Math.round((await calls.capacity(5)) / 2)
  log(`${rate} calls a second are half of the capacity here`)
  calls.start(rate)
  held.start(HELD_STREAMS)
  for (const watch of watches) watch.start()
  const faultCounts = await runFaults({ stage, tally, calls, held }, watches, minutes * 60_000)

  for (const watch of watches) watch.stop()
  await held.stop()
  await calls.stop()
  // This closes idle connections to the target.
  await stage.restartTarget(0)
  const left = await Promise.all(files.map((one) => one.left()))
  const leftovers = await stage.close()
  for (const what of leftovers) tally.failed('stop', Date.now(), what)
  const warm = Math.max(LEAST_WARM_UP, minutes * 60_000 * WARM_UP)
  const growth = watches.flatMap((watch) => watch.growthSince(warm))
  return {
    minutes,
    node: process.version,
    rate,
    faults: faultCounts,
    totals: tally.totals,
    failures: tally.failures,
    growth,
    files: left,
    held: left.every((one) => one.held) && tally.sum.failed === 0 && growth.every((one) => one.held),
  }
}

/** Causes one fault after the other until the time is over. */
async function runFaults(
  context: SoakContext,
  watches: readonly Watch[],
  milliseconds: number,
): Promise<Record<string, number>> {
  const faultCounts: Record<string, number> = {}
  const began = performance.now()
  const passed = (): number => performance.now() - began
  for (let round = 0; passed() < milliseconds; round++) {
    for (const [name, fault] of Object.entries(faults)) {
      await pause(Math.min(REST, Math.max(0, milliseconds - passed())))
      if (passed() >= milliseconds) break
      await context.calls.renewTokens()
      await fault(context, round)
      faultCounts[name] = (faultCounts[name] ?? 0) + 1
      const { right, excused, failed } = context.tally.sum
      const counts = `${right} right, ${excused} expected failures, ${failed} failed`
      log(
        `${clock(passed())} of ${clock(milliseconds)}: ${name}; ${counts}; ${watches.map(({ now }) => now).join('; ')}`,
      )
    }
  }
  return faultCounts
}

function log(text: string): void {
  process.stderr.write(`${text}\n`)
}

function clock(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
