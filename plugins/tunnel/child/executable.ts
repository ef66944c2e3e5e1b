import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { ConfigError } from 'sallyport'

/** The path of a program. A missing program stops the start, instead of failing every attempt. */
export function findExecutable(name: string, place: string): string {
  // The supervisor needs a POSIX shell, process groups, and signals to them.
  if (process.platform === 'win32') {
    throw new ConfigError([{ place, message: 'tunnels do not run on Windows: use its subsystem for Linux' }])
  }
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  const found = name.includes('/') ? [name] : folders.map((folder) => join(folder, name))
  const runnable = found.find(isRunnable)
  if (runnable !== undefined) return runnable
  const reason = name.includes('/') ? 'there is no such program' : 'no folder of PATH has such a program'
  throw new ConfigError([
    { place, message: `"${name}" cannot be run, ${reason}: install it, or correct the name` },
  ])
}

function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
