import type { Readable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { signalGroup, spawnProcessGroup } from 'sallyport/toolkit'

export interface ProcessGroup {
  /** Settles when nothing of it runs any more, with how it ended. */
  readonly ended: Promise<string>
  /** Asks it to end, and ends it with all its processes if it takes too long. */
  end(): Promise<void>
}

// Time to send what is buffered, and to close the connection to the other side.
const GRACE = 3_000
// What left the group, and so outlived it, may still hold the pipes.
const LAST_WORDS = 1_000

/** Runs a program that ends when this process does, without a shell reading a word of its arguments. */
export function startProcessGroup(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  tell: (line: string) => void,
): ProcessGroup {
  const child = spawnProcessGroup(argv, { env })
  child.stdin.end()
  readLines(child.stdout, tell)
  readLines(child.stderr, tell)

  let over = false
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    child.once('exit', () => {
      over = true
      signalGroup(child, 'SIGKILL')
      child.stdio[3]?.destroy()
      const hush = setTimeout(() => {
        child.stdout.destroy()
        child.stderr.destroy()
      }, LAST_WORDS)
      child.once('close', () => clearTimeout(hush))
    })
    child.once('close', (code, signal) =>
      resolve(signal === null ? `ended with ${code}` : `ended by ${signal}`),
    )
  })
  return {
    ended,
    async end() {
      if (!over) signalGroup(child, 'SIGTERM')
      const enough = setTimeout(() => signalGroup(child, 'SIGKILL'), GRACE)
      await ended
      clearTimeout(enough)
    },
  }
}

const MAX_LINE = 4096

/** Reads what a program prints, line by line, as plain text. Of a long line only the beginning is kept. */
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

// Colours would hide what is searched for, and a control character in a log acts on the terminal.
const plainText = (text: string): string =>
  stripVTControlCharacters(text)
    .replaceAll(/\p{Cc}/gu, ' ')
    .trim()
