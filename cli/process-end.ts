import { writeSync } from 'node:fs'

const STDERR = 2
const FAILED = 1

/** Ends the process, whatever would keep it alive. */
export function endProcess(code: number): never {
  process.off('exit', tellOfExit)
  process.exit(code)
}

/** Runs the program to its end. A plugin that ends the process first would otherwise pass for success. */
export async function untilItsEnd(run: () => Promise<void>): Promise<void> {
  process.once('exit', tellOfExit)
  process.once('uncaughtExceptionMonitor', () => process.off('exit', tellOfExit))
  try {
    await run()
  } finally {
    process.off('exit', tellOfExit)
  }
}

function tellOfExit(code: number): void {
  // That of a worker ends with its primary.
  if (process.connected === false) return
  process.exitCode = code === 0 ? FAILED : code
  sayPlainly(
    `sallyport: the process has ended (code ${code}) before it was done: a plugin calls process.exit\n`,
  )
}

/** At once, and without anything that has to be loaded. */
export function sayPlainly(text: string): void {
  try {
    writeSync(STDERR, text)
  } catch {
    // Nobody reads it; the exit code is left.
  }
}
