import { realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'

/** How to call the program at path `started` again in a shell: as it was called, if that works elsewhere too. */
export function programName(started: string, environment: NodeJS.ProcessEnv): string {
  if (environment['npm_command'] === 'exec') return 'npx sallyport'
  return programCommand(started, environment).map(shellQuoted).join(' ')
}

/** How another program starts this one again, from any folder and with few variables: a command and its first arguments. */
export function programCommand(
  started: string,
  { PATH = '', npm_command: npmCommand }: NodeJS.ProcessEnv,
): readonly [command: string, ...args: string[]] {
  // npx puts its folder into PATH for this process alone.
  if (npmCommand !== 'exec' && isInPath(started, PATH)) return ['sallyport']
  // The Node of a shell may be older than the one that a checkout brings.
  return [process.execPath, realPath(started) ?? started]
}

function isInPath(started: string, path: string): boolean {
  const found = path.split(delimiter).find((folder) => realPath(join(folder, 'sallyport')) !== undefined)
  return found !== undefined && realPath(join(found, 'sallyport')) === realPath(started)
}

/** The folder of this package, in a checkout or installed. */
export const packageFolder = (): string =>
  dirname(createRequire(import.meta.url).resolve('sallyport/package.json'))

/** Any text as one word of a POSIX shell. */
export const shellQuoted = (text: string): string =>
  /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
