import { mkdirSync, statSync } from 'node:fs'
import { enableCompileCache as enable } from 'node:module'
import { join } from 'node:path'
import { userFolder } from '#core/toolkit/files/user-folder.js'

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
