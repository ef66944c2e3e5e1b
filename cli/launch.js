// An old Node must be able to run this file and to say so: it imports little, and uses no new syntax.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const MIN_NODE = 24

/** Runs the built program, or the sources in a checkout without `dist`. `preset` is the command of a bin that has one. */
export async function launch(preset) {
  if (Number.parseInt(process.versions.node, 10) < MIN_NODE) {
    process.stderr.write(`sallyport needs Node ${MIN_NODE} or later, this is ${process.versions.node}\n`)
    process.exitCode = 2
  } else if (existsSync(fileURLToPath(import.meta.resolve('#cli/start.js')))) {
    const { start } = await import('#cli/start.js')
    await start(preset)
  } else {
    runSources()
  }
}

/** Replaces this process with one that loads TypeScript. */
function runSources() {
  const flags = ['-C', 'source', '--import', import.meta.resolve('tsx')]
  const argv = [...flags, ...process.argv.slice(1)]
  // Windows cannot replace a process.
  if (process.platform === 'win32')
    process.exitCode = spawnSync(process.execPath, argv, { stdio: 'inherit' }).status ?? 1
  else process.execve(process.execPath, [process.execPath, ...argv])
}
