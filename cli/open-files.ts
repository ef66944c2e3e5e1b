import { readFileSync } from 'node:fs'
import { endProcess, sayPlainly, untilItsEnd } from './process-end.js'

const FAILED = 1
/** What a gateway has at least: every caller is a connection, and most of them one more to a target. */
const FEW = 1_024
const DEEPEST = 8

/** Runs the program. With too few files to even load its parts, it says so by itself: nothing else can be loaded for it. */
export async function withinOpenFiles(run: () => Promise<void>): Promise<void> {
  try {
    await untilItsEnd(run)
  } catch (error) {
    const sentence = tooFewFiles(error)
    if (sentence === undefined) throw error
    sayPlainly(`sallyport: ${sentence}\n`)
    endProcess(FAILED)
  }
}

/** What to do, when the reason of an error is that no more files or connections may be open. */
export function tooFewFiles(error: unknown, depth = 0): string | undefined {
  if (!(error instanceof Error) || depth > DEEPEST) return undefined
  const { code, cause, message } = error as NodeJS.ErrnoException
  if (code === 'ENFILE') {
    return 'this machine has no more files to open (ENFILE): end what holds many, or raise its limit, fs.file-max on Linux'
  }
  if (code === 'EMFILE' || /\bEMFILE\b/.test(message)) {
    return `this process may not open as many files and connections as it needs (EMFILE): ${RAISE_LIMIT}`
  }
  return tooFewFiles(cause, depth + 1)
}

/** A warning for a gateway that may soon run into its limit. */
export function fewOpenFiles(): string | undefined {
  const limit = openFiles()
  if (limit === undefined || limit >= FEW) return undefined
  return `this process may have ${limit} files and connections open at once, and each caller takes one or two: ${RAISE_LIMIT}`
}

export const RAISE_LIMIT = `raise the limit to ${FEW} or more, with \`ulimit -n\`, or LimitNOFILE= of a systemd unit`

/** Node tells its limits in a report only, which takes long; and it has raised the soft one to the hard one by itself. */
function openFiles(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}
