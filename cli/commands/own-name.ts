import { realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'

/** How a person calls the program in `started` again, in a shell: as it was called, if that works elsewhere too. */
export function ownName(started: string, environment: NodeJS.ProcessEnv): string {
  const { PATH = '', npm_command: npmCommand } = environment
  if (started.endsWith('.ts')) return `npm --silent --prefix ${quoted(packageFolder())} run sallyport --`
  // npx puts its folder into PATH for this process alone.
  if (npmCommand === 'exec') return 'npx sallyport'
  const here = real(started)
  const found = PATH.split(delimiter).find((folder) => real(join(folder, 'sallyport')) !== undefined)
  const isInPath = found !== undefined && real(join(found, 'sallyport')) === here
  return isInPath ? 'sallyport' : `node ${quoted(here ?? started)}`
}

/** The folder of this package, in a checkout or installed. */
export const packageFolder = (): string =>
  dirname(createRequire(import.meta.url).resolve('sallyport/package.json'))

/** One word of a POSIX shell, whatever is in it. */
export const quoted = (text: string): string =>
  /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

function real(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
