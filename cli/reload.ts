import { ConfigError, type Log, problemLine } from 'sallyport'
import type { Located, Outcome } from './config/outcome.js'

/** Reads everything again and puts it in force. What is wrong changes nothing, and is told. */
export async function reload<Settings>(
  log: Log,
  read: () => Promise<Outcome<Settings>>,
  exchange: (located: Located<Settings>) => Promise<void>,
): Promise<void> {
  try {
    const outcome = await read()
    if ('problems' in outcome) throw new ConfigError(outcome.problems)
    await exchange(outcome)
    log.info('the configuration was read again and is in force')
  } catch (error) {
    const problems = error instanceof ConfigError ? error.problems.map(problemLine) : undefined
    log.error(
      problems === undefined ? { err: error } : { problems },
      'the configuration was read again and is not in force; everything goes on as before',
    )
  }
}
