import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

const DEFAULTS = { cache: ['.cache'], data: ['.local', 'share'], state: ['.local', 'state'] } as const

/** The folder of this program among the user's files of one kind, by the XDG base directory specification. */
export function userFolder(
  kind: keyof typeof DEFAULTS,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const set = environment[`XDG_${kind.toUpperCase()}_HOME`] ?? ''
  // The specification has relative paths ignored.
  return join(isAbsolute(set) ? set : join(homedir(), ...DEFAULTS[kind]), 'sallyport')
}
