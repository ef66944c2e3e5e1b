import { createInterface } from 'node:readline'

/**
 * Prints a line on stderr. Not by the log, which hides URL queries: the sign-in URL has one. It holds no secret, since
 * a code is of no use without the verifier in this process.
 */
export function promptUser(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** Reads lines that the user pastes on a terminal, until the returned function is called. */
export function readPastedLines(accept: (line: string) => boolean): () => void {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return () => {}
  // As a terminal: in line mode the system cuts a line at 4096 or 1024 bytes, and a URL may be longer.
  const lines = createInterface({
    input: process.stdin,
    output: process.stderr,
    terminal: true,
    historySize: 0,
    prompt: '',
  })
  lines.on('line', (line) => {
    if (line.trim() !== '' && !accept(line)) promptUser('This is not the callback URL of this sign-in.')
  })
  // In this mode the terminal does not turn Ctrl-C into a signal.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  promptUser('Without a browser on this machine, paste the URL that your browser ends up at and press Enter.')
  return () => {
    lines.close()
    process.stdin.unref()
  }
}
