import type { Readable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { signalGroup, spawnProcessGroup } from 'sallyport/toolkit'

export interface ProcessGroup {
  /** Resolves when the program and its group have ended, with the way it ended. */
  readonly ended: Promise<string>
  /** Sends SIGTERM, and SIGKILL to the whole group if it takes too long. */
  end(): Promise<void>
}

// Milliseconds for the program to flush its buffers and close its connections.
const GRACE = 3_000
// Milliseconds until the pipes are closed: a process that left the group may hold them open.
const PIPE_LIMIT = 1_000

/** Runs a program that ends with this process. No shell reads its arguments. */
export function startProcessGroup(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  onLine: (line: string) => void,
): ProcessGroup {
  const child = spawnProcessGroup(argv, { env })
  child.stdin.end()
  readLines(child.stdout, onLine)
  readLines(child.stderr, onLine)

  let exited = false
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    child.once('exit', () => {
      exited = true
      signalGroup(child, 'SIGKILL')
      child.stdio[3]?.destroy()
      const timer = setTimeout(() => {
        child.stdout.destroy()
        child.stderr.destroy()
      }, PIPE_LIMIT)
      child.once('close', () => clearTimeout(timer))
    })
    child.once('close', (code, signal) =>
      resolve(signal === null ? `ended with ${code}` : `ended by ${signal}`),
    )
  })
  return {
    ended,
    async end() {
      if (!exited) signalGroup(child, 'SIGTERM')
      const killTimer = setTimeout(() => signalGroup(child, 'SIGKILL'), GRACE)
      await ended
      clearTimeout(killTimer)
    },
  }
}

const MAX_LINE = 4096

/** Reads the output of a program line by line, as plain text. Only the beginning of a long line is kept. */
function readLines(stream: Readable, onLine: (line: string) => void): void {
  let partial = ''
  const finish = (): void => {
    const line = plainText(partial)
    partial = ''
    if (line !== '') onLine(line)
  }
  stream.setEncoding('utf8').on('data', (text: string) => {
    const [rest = '', ...lines] = text.split(/\r\n|\r|\n/)
    partial = (partial + rest).slice(0, MAX_LINE)
    for (const line of lines) {
      finish()
      partial = line.slice(0, MAX_LINE)
    }
  })
  stream.on('end', finish)
}

// Colour codes would hide text from a search, and control characters in a log act on the terminal.
const plainText = (text: string): string =>
  stripVTControlCharacters(text)
    .replaceAll(/\p{Cc}/gu, ' ')
    .trim()
