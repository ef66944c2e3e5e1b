import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

/** The terminal of a user who may sign in. */
export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean; unref?(): unknown }
  readonly stderr: Writable & { readonly isTTY?: boolean }
}

/**
 * Prints a line on stderr. Not by the log, which hides URL queries: the sign-in URL has one. The URL holds no secret,
 * since a code is of no use without the verifier in this process.
 */
export function promptUser({ stderr }: Terminal, line: string): void {
  stderr.write(`${line}\n`)
}

/** Reads lines that the user pastes on a terminal, until the returned function is called. */
export function readPastedLines(terminal: Terminal, accept: (line: string) => boolean): () => void {
  const { stdin, stderr } = terminal
  if (stdin.isTTY !== true || stderr.isTTY !== true) return () => {}
  // As a terminal: in line mode the system cuts a line at 4096 or 1024 bytes, and a URL may be longer.
  const lines = createInterface({
    input: stdin,
    output: stderr,
    terminal: true,
    historySize: 0,
    prompt: '',
  })
  lines.on('line', (line) => {
    if (line.trim() !== '' && !accept(line))
      promptUser(terminal, 'This is not the callback URL of this sign-in.')
  })
  // In this mode the terminal does not turn Ctrl-C into a signal.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  promptUser(
    terminal,
    'Without a browser on this machine, paste the URL that your browser ends up at and press Enter.',
  )
  return () => {
    lines.close()
    stdin.unref?.()
  }
}
