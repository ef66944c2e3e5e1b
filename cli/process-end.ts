import { writeSync } from 'node:fs'

const STDERR = 2
const FAILED = 1

/** Ends the process, also with open handles. */
export function endProcess(code: number): never {
  process.off('exit', reportEarlyExit)
  process.exit(code)
}

/** Runs the program to its end. Without this, a plugin that calls process.exit(0) would look like success. */
export async function runToEnd(run: () => Promise<void>): Promise<void> {
  process.once('exit', reportEarlyExit)
  process.once('uncaughtExceptionMonitor', () => process.off('exit', reportEarlyExit))
  try {
    await run()
  } finally {
    process.off('exit', reportEarlyExit)
  }
}

function reportEarlyExit(code: number): void {
  // A worker ends with its primary process.
  if (process.connected === false) return
  process.exitCode = code === 0 ? FAILED : code
  writeToStderr(`sallyport: the process ended early (code ${code}): a plugin called process.exit\n`)
}

/** Writes synchronously, and loads no module. */
export function writeToStderr(text: string): void {
  try {
    writeSync(STDERR, text)
  } catch {
    // stderr is closed; the exit code still shows the failure.
  }
}
