import { ConfigError } from 'sallyport'
import { entriesOf, type PlannedEntry, stepFailure } from 'sallyport/embed'
import { pathsFrom, within } from 'sallyport/toolkit'
import { planOf } from '../../config/all-problems.js'
import { hidden } from '../../config/hidden.js'
import { readList } from '../../config/read-list.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitAfterFlush, exitCode, printable, printError, printProblems } from '../../terminal.js'
import { migrateCommand } from './flags.js'

/** Milliseconds for one plugin: a database that does not respond must not block a rollout for ever. */
const PLUGIN_TIMEOUT = 30_000

/** Updates the database tables of a file's plugins to this version. */
export async function migrate({ options, environment }: Invocation, io: Io): Promise<number> {
  const { config, debug } = valuesOf(migrateCommand.groups, options)
  const checked = await planOf(await readList(config, environment))
  if ('problems' in checked) return printProblems(checked.problems, io)

  const { plan, folder } = checked
  const stopped = new AbortController()
  // In a container the command is process 1, which ignores signals without a listener.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    io.signals.once(signal, () => stopped.abort(new Error(`stopped by ${signal}: run it again`)))
  const code = await migrateAll(entriesOf(plan), { folder, debug, io, signal: stopped.signal })
  // A handle that a plugin left open must not keep the process alive.
  return exitAfterFlush(code, io)
}

interface MigrationContext {
  readonly folder: string
  readonly debug: boolean
  readonly io: Io
  readonly signal: AbortSignal
  readonly timeout?: number
}

/**
 * Runs one plugin after the other, since several may use the same tables. After a wrong configuration of one plugin
 * the others still run; after another failure, such as a database that does not respond, they do not.
 */
export async function migrateAll(
  entries: readonly PlannedEntry[],
  { debug, io, ...context }: MigrationContext,
): Promise<number> {
  const asked = entries.filter(({ plugin }) => plugin.migrate !== undefined)
  const print = (line: string): void => void io.stdout.write(`${printable(hidden.text(line))}\n`)
  if (asked.length === 0) print('no plugin of this file has a database: nothing to do')
  let code: number = exitCode.ok
  for (const entry of asked) {
    for (const secret of entry.secrets) hidden.add(secret)
    try {
      const done = await migrateEntry(entry, context)
      for (const line of done.length > 0 ? done : ['nothing to do']) print(`${entry.id}: ${line}`)
    } catch (error) {
      const failure = context.signal.aborted ? error : stepFailure(entry, 'migrate', error)
      code = Math.max(code, await printError(failure, io, debug))
      if (!(failure instanceof ConfigError)) break
    }
  }
  return code
}

async function migrateEntry(
  { plugin, options }: PlannedEntry,
  { folder, signal: stopped, timeout = PLUGIN_TIMEOUT }: Omit<MigrationContext, 'debug' | 'io'>,
): Promise<readonly string[]> {
  const late = (): Error =>
    new Error(`it did not finish within ${timeout / 1000} s, and migrate stopped waiting`)
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(timeout)])
  const path = pathsFrom(folder)
  // The options come from the plugin's own schema, so they have the type that its `migrate` expects.
  const work = async (): Promise<readonly string[]> =>
    plugin.migrate?.({ path, signal }, options as never) ?? []
  return within(timeout, work(), late, stopped)
}
