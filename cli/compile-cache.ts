import { mkdirSync, statSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * Keeps what V8 makes of the code for the next start, where Node can: since 22.1. Only in the user's own cache
 * folder, since whoever can write there decides what is run; Node's default is a folder that all users share.
 */
export function keepCompiledCode(environment: NodeJS.ProcessEnv): void {
  if (environment['NODE_COMPILE_CACHE'] !== undefined) return
  const given = environment['XDG_CACHE_HOME'] ?? ''
  const folder = given.startsWith('/') ? given : join(homedir(), '.cache')
  const place = join(folder, 'sallyport', 'compiled')
  // It reports what fails, and throws nothing.
  const enable: unknown = Reflect.get(nodeModule, 'enableCompileCache')
  if (typeof enable === 'function' && isOwn(place)) enable(place)
}

/** Made here, since Node would leave it to the umask. One that others may write is not used. */
function isOwn(place: string): boolean {
  try {
    mkdirSync(place, { recursive: true, mode: 0o700 })
    return process.platform === 'win32' || (statSync(place).mode & 0o022) === 0
  } catch {
    return false
  }
}
