import { enableCompileCache } from './compile-cache.js'
import { withinOpenFiles } from './open-files.js'
import { endProcess } from './process-end.js'

/** Runs the program of a bin. `preset` is its command, where it has only one. */
export async function start(preset?: string): Promise<void> {
  const { stdin, stdout, stderr, env, argv } = process
  enableCompileCache(env)
  await withinOpenFiles(async () => {
    const { main } = await import('./program.js')
    const [, started = '', ...words] = argv
    const io = { stdin, stdout, stderr, env, started, signals: process, exit: endProcess }
    process.exitCode = await main(words, io, preset)
  })
}
