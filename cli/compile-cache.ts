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
  // It reports what fails, and throws nothing.
  const enable: unknown = Reflect.get(nodeModule, 'enableCompileCache')
  if (typeof enable === 'function') enable(join(folder, 'sallyport', 'compiled'))
}
