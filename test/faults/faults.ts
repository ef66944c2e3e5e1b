import { fork } from 'node:child_process'
import { test } from 'node:test'
import { noHaproxy } from '#kit/haproxy.js'
import { noPostgres } from '#kit/postgres.js'
import { noDisk, smallDisk } from '#kit/small-disk.js'
import { runCommand, UsageError } from '../bench/usage-error.js'
import { disturbances } from './disturbances.js'
import { HELP, type Options, randomOf, readOptions } from './options.js'
import { asText } from './report.js'
import { disturbed } from './run.js'
import { createStage } from './stage.js'

/** The size of the disk: enough for a small database. */
const DISK = '256m'

const print = (text: string): void => void process.stdout.write(`${text}\n`)

await runCommand(async () => {
  const options = readOptions(process.argv.slice(2), Object.keys(disturbances))
  if (options.help) return print(HELP)
  const missing = noPostgres ?? noHaproxy
  if (missing !== undefined) throw new UsageError(`PostgreSQL and HAProxy are needed: ${missing}`)
  // In a process group of its own: otherwise Ctrl-C ends all servers before the run has checked them.
  if (process.send === undefined) return runInOwnGroup(options)
  run(options)
})

function runInOwnGroup(options: Options): void {
  const argv = [...process.argv.slice(2), '--seed', String(options.seed)]
  const running = fork(import.meta.filename, argv, { detached: true })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => running.connected && running.disconnect())
  running.once('exit', (code) => {
    process.exitCode = code ?? 1
  })
}

/** Runs as a test, whose end stops everything that it started. */
function run({ minutes, seed, only }: Options): void {
  const stopping = new AbortController()
  process.once('disconnect', () => stopping.abort())
  process.channel?.unref()
  void test(`${minutes} minutes of faults, --seed ${seed}`, async (t) => {
    const disk = noDisk === undefined ? smallDisk(t, DISK) : undefined
    const stage = await createStage(t, disk?.mountPoint)
    const timer = setTimeout(() => stopping.abort(), minutes * 60_000)
    const context = { stage, random: randomOf(seed), fullDisk: disk?.faults.full }
    const report = await disturbed(context, only, stopping.signal)
    clearTimeout(timer)
    print(asText(report))
    if (!report.held) throw new Error('a bound was broken: see the report')
  })
}
