import { createInterface } from 'node:readline'

/**
 * Says something to whoever started the program. Past the log, which hides queries, as the sign-in URL is one: it
 * holds no secret, since only the verifier in this process makes a code of use.
 */
export function tellPerson(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** Reads what a person pastes on a terminal, until the function that it returns is called. */
export function pastedLines(take: (line: string) => boolean): () => void {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return () => {}
  // As a terminal: read by lines, the system cuts one at 4096 bytes, or 1024, and an address may be longer.
  const lines = createInterface({
    input: process.stdin,
    output: process.stderr,
    terminal: true,
    historySize: 0,
    prompt: '',
  })
  lines.on('line', (line) => {
    if (line.trim() !== '' && !take(line)) tellPerson('That is not the address of this sign-in.')
  })
  // The terminal no longer makes a signal of it.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  tellPerson('Without a browser on this machine, paste the address that yours ends up at and press Enter.')
  return () => {
    lines.close()
    process.stdin.unref()
  }
}
