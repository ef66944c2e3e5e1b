import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { ConfigError } from '../../contract/errors.js'

const DEFAULTS = { cache: ['.cache'], data: ['.local', 'share'], state: ['.local', 'state'] } as const

/** The folder of this program among the user's files of one kind, by the XDG base directory specification. */
export function userFolder(
  kind: keyof typeof DEFAULTS,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const variable = `XDG_${kind.toUpperCase()}_HOME`
  const set = environment[variable] ?? ''
  // The specification says to ignore relative paths.
  return join(isAbsolute(set) ? set : join(homeFor(variable), ...DEFAULTS[kind]), 'sallyport')
}

/**
 * The home directory. A container that runs as a bare user number has none, in the environment or in the list of
 * users.
 */
function homeFor(variable: string): string {
  try {
    return homedir()
  } catch (cause) {
    const message = `not set, and this user has no home directory: set it, or ${variable}, to a folder that persists`
    throw new ConfigError([{ place: 'HOME', message }], { cause })
  }
}
