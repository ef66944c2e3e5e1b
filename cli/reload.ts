import { ConfigError, type Log } from 'sallyport'
import type { Located, Result } from './config/result.js'
import { problemText } from './terminal.js'

/**
 * Reads the configuration again and applies it, unless what was read later takes its place. A wrong one
 * changes nothing, and is logged.
 */
export async function reload<Settings>(
  log: Log,
  read: () => Promise<Result<Settings>>,
  apply: (located: Located<Settings>) => Promise<boolean>,
): Promise<void> {
  try {
    const result = await read()
    if ('problems' in result) throw new ConfigError(result.problems)
    const isApplied = await apply(result)
    log.info(
      isApplied
        ? 'the configuration was read again and is in force'
        : 'the configuration was read again, but what was read later takes its place',
    )
  } catch (error) {
    const problems = error instanceof ConfigError ? error.problems.map(problemText) : undefined
    log.error(
      problems === undefined ? { err: error } : { problems },
      'the configuration was read again and is not in force: the previous one still is',
    )
  }
}
