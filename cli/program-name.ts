import { realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'

/** The command that calls the program at path `started` in a shell: as it was called, if that works in any shell. */
export function programName(started: string, environment: NodeJS.ProcessEnv): string {
  if (environment['npm_command'] === 'exec') return 'npx sallyport'
  return programCommand(started, environment).map(shellQuoted).join(' ')
}

/** The command and first arguments by which another program starts this one, from any folder and with few variables. */
export function programCommand(
  started: string,
  { PATH = '', npm_command: npmCommand }: NodeJS.ProcessEnv,
): readonly [command: string, ...args: string[]] {
  // npx puts its folder into PATH for this process only.
  if (npmCommand !== 'exec' && isInPath(started, PATH)) return ['sallyport']
  // The Node in the shell's PATH may be older than the one that runs this checkout.
  return [process.execPath, realPath(started) ?? started]
}

function isInPath(started: string, path: string): boolean {
  const found = path.split(delimiter).find((folder) => realPath(join(folder, 'sallyport')) !== undefined)
  return found !== undefined && realPath(join(found, 'sallyport')) === realPath(started)
}

/** The folder of this package, in a checkout or installed. */
export const packageFolder = (): string =>
  dirname(createRequire(import.meta.url).resolve('sallyport/package.json'))

/** Quotes any text as one word of a POSIX shell. */
export const shellQuoted = (text: string): string =>
  /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
