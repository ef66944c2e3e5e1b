import type { Readable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'

const LONGEST = 4096

/** Tells what a program prints, line by line, as plain text. Of a line that does not end the beginning is enough. */
export function readLines(stream: Readable, tell: (line: string) => void): void {
  let begun = ''
  const finish = (): void => {
    const line = plain(begun)
    begun = ''
    if (line !== '') tell(line)
  }
  stream.setEncoding('utf8').on('data', (text: string) => {
    const [rest = '', ...lines] = text.split(/\r\n|\r|\n/)
    begun = (begun + rest).slice(0, LONGEST)
    for (const line of lines) {
      finish()
      begun = line.slice(0, LONGEST)
    }
  })
  stream.on('end', finish)
}

// Colours would hide what is looked for, and a control character in a log speaks to the terminal.
const plain = (text: string): string =>
  stripVTControlCharacters(text)
    .replaceAll(/\p{Cc}/gu, ' ')
    .trim()
