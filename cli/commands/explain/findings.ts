import type { Finding } from 'sallyport'
import { painter } from '../../colour.js'
import { hidden } from '../../config/hidden.js'

export const print = (line: string): void => void process.stdout.write(`${hidden.text(line)}\n`)

/** A line for each, what does not hold in red. */
export function printFindings(findings: readonly Finding[]): void {
  const paint = painter(process.stdout, process.env)
  const width = Math.max(...findings.map(({ about }) => about.length), 0)
  for (const { about, holds, detail } of findings) {
    const line = `   ${holds ? 'ok   ' : 'wrong'} ${about.padEnd(width)}  ${detail}`
    print(holds ? line : paint('red', line))
  }
}
