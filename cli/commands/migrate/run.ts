import { ConfigError } from 'sallyport'
import { entriesOf, type PlannedEntry, stepFailure } from 'sallyport/embed'
import { pathsFrom, within } from 'sallyport/toolkit'
import { planOf } from '../../config/all-problems.js'
import { hidden } from '../../config/hidden.js'
import { readList } from '../../config/read-list.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { endOnceSaid, exitCode, printable, printError, printProblems } from '../../terminal.js'
import { migrateCommand } from './flags.js'

/** Milliseconds that one plugin may take: a database that is silent must not hold up a rollout for ever. */
const PATIENCE = 30_000

/** Brings what the plugins of a file store outside to the level of this version. */
export async function migrate({ options, environment }: Invocation, io: Io): Promise<number> {
  const { config, debug } = valuesOf(migrateCommand.groups, options)
  const checked = await planOf(await readList(config, environment))
  if ('problems' in checked) return printProblems(checked.problems, io)

  const { plan, folder } = checked
  const stopped = new AbortController()
  // In a container it is process 1, which no signal ends by itself.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    io.signals.once(signal, () => stopped.abort(new Error(`stopped by ${signal}: run it again`)))
  const code = await migrateAll(entriesOf(plan), { folder, debug, io, signal: stopped.signal })
  // What some plugin left open must not keep the process here.
  return endOnceSaid(code, io)
}

interface Circumstances {
  readonly folder: string
  readonly debug: boolean
  readonly io: Io
  readonly signal: AbortSignal
  readonly patience?: number
}

/**
 * One plugin after the other, since several may use the same tables. A wrong configuration of one keeps nothing from the
 * others; after another failure, such as a database that is silent, they are not asked.
 */
export async function migrateAll(
  entries: readonly PlannedEntry[],
  { debug, io, ...circumstances }: Circumstances,
): Promise<number> {
  const asked = entries.filter(({ plugin }) => plugin.migrate !== undefined)
  const print = (line: string): void => void io.stdout.write(`${printable(hidden.text(line))}\n`)
  if (asked.length === 0) print('no plugin of this file has a database: nothing to do')
  let code: number = exitCode.ok
  for (const entry of asked) {
    for (const secret of entry.secrets) hidden.add(secret)
    try {
      const done = await migrateEntry(entry, circumstances)
      for (const line of done.length > 0 ? done : ['nothing to do']) print(`${entry.id}: ${line}`)
    } catch (error) {
      const failure = circumstances.signal.aborted ? error : stepFailure(entry, 'migrate', error)
      code = Math.max(code, await printError(failure, io, debug))
      if (!(failure instanceof ConfigError)) break
    }
  }
  return code
}

async function migrateEntry(
  { plugin, options }: PlannedEntry,
  { folder, signal: stopped, patience = PATIENCE }: Omit<Circumstances, 'debug' | 'io'>,
): Promise<readonly string[]> {
  const late = (): Error => new Error(`it was not done within ${patience / 1000} s, and was given up`)
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(patience)])
  const path = pathsFrom(folder)
  // The plugin gets what its own schema returned, which is what its `migrate` is typed for.
  const work = async (): Promise<readonly string[]> =>
    plugin.migrate?.({ path, signal }, options as never) ?? []
  return within(patience, work(), late, stopped)
}
