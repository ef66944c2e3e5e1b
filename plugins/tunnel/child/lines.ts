import type { Readable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'

const MAX_LINE = 4096

/** Reads what a program prints, line by line, as plain text. Of a long line only the beginning is kept. */
export function readLines(stream: Readable, onLine: (line: string) => void): void {
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
