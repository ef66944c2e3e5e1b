import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { Io } from './io.js'

/** Asks a person at the terminal, without showing what is typed. */
export async function askHidden(question: string, { stdin, stderr }: Io): Promise<string> {
  stderr.write(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: stdin, output: nowhere, terminal: true })
  try {
    return await terminal.question('')
  } finally {
    terminal.close()
    stderr.write('\n')
  }
}
