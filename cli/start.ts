import { mkdirSync, statSync } from 'node:fs'
import { enableCompileCache as enable } from 'node:module'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { userFolder } from '#core/toolkit/files/user-folder.js'
import { withinOpenFiles } from './open-files.js'
import { endProcess } from './process-end.js'

/**
 * Runs the program of a bin. `preset` is its command, where it has only one.
 *
 * V8 may take the objects of a request for long-lived ones, and then a full collection must free the whole request: with a
 * policy this made 12 full collections in 9 s instead of 2, and a call 30 % dearer (Node 24). The flag forbids that guess.
 */
export async function start(preset?: string): Promise<void> {
  const { stdin, stdout, stderr, env, argv } = process
  enableCompileCache(env)
  setFlagsFromString('--no-allocation-site-pretenuring')
  await withinOpenFiles(async () => {
    const { main } = await import('./program.js')
    const [, started = '', ...words] = argv
    const io = { stdin, stdout, stderr, env, started, signals: process, exit: endProcess }
    process.exitCode = await main(words, io, preset)
  })
}

/**
 * Keeps compiled code for the next start. Only in the user's own cache folder, since
 * whoever can write there decides what is run; Node's default is a folder that all users share.
 */
export function enableCompileCache(environment: NodeJS.ProcessEnv): void {
  if (environment['NODE_COMPILE_CACHE'] !== undefined) return
  const cache = privateCache(environment)
  if (cache !== undefined) enable(cache)
}

/** Creates it, since Node would leave its mode to the umask. Nothing where there is no home, or others may write. */
function privateCache(environment: NodeJS.ProcessEnv): string | undefined {
  try {
    const cache = join(userFolder('cache', environment), 'compiled')
    mkdirSync(cache, { recursive: true, mode: 0o700 })
    return process.platform === 'win32' || (statSync(cache).mode & 0o022) === 0 ? cache : undefined
  } catch {
    return undefined
  }
}
