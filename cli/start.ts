import { enableCompileCache } from './compile-cache.js'
import { withinOpenFiles } from './open-files.js'

/** Runs the program of a bin. `preset` is its command, where it has only one. */
export async function start(preset?: string): Promise<void> {
  enableCompileCache(process.env)
  await withinOpenFiles(async () => {
    const { main } = await import('./program.js')
    await main(preset)
  })
}
