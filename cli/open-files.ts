import { readFileSync } from 'node:fs'
import { endProcess, runToEnd, writeToStderr } from './process-end.js'

const FAILED = 1
/** Below this limit a gateway warns: each caller takes a connection, and most take another to a target. */
const MIN_OPEN_FILES = 1_024
const MAX_DEPTH = 8

/** Runs the program. If it may not open enough files to load its modules, this reports it without another module. */
export async function withinOpenFiles(run: () => Promise<void>): Promise<void> {
  try {
    await runToEnd(run)
  } catch (error) {
    const sentence = tooFewFiles(error)
    if (sentence === undefined) throw error
    writeToStderr(`sallyport: ${sentence}\n`)
    endProcess(FAILED)
  }
}

/** A sentence with advice, when an error was caused by the limit of open files and connections. */
export function tooFewFiles(error: unknown, depth = 0): string | undefined {
  if (!(error instanceof Error) || depth > MAX_DEPTH) return undefined
  const { code, cause, message } = error as NodeJS.ErrnoException
  if (code === 'ENFILE') {
    return 'this machine has too many open files (ENFILE): end a program that holds many, or raise the limit, fs.file-max on Linux'
  }
  if (code === 'EMFILE' || /\bEMFILE\b/.test(message)) {
    return `this process may not open as many files and connections as it needs (EMFILE): ${RAISE_LIMIT}`
  }
  return tooFewFiles(cause, depth + 1)
}

/** A warning for a gateway that may soon run into its limit. */
export function fewOpenFiles(): string | undefined {
  const limit = openFiles()
  if (limit === undefined || limit >= MIN_OPEN_FILES) return undefined
  return `this process may have ${limit} files and connections open at once, and each caller takes one or two: ${RAISE_LIMIT}`
}

export const RAISE_LIMIT = `raise the limit to ${MIN_OPEN_FILES} or more, with \`ulimit -n\`, or LimitNOFILE= of a systemd unit`

/** From /proc, since Node shows its limits only in a slow report. Node has raised the soft limit to the hard one. */
function openFiles(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}
