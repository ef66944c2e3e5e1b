import type { Finding } from 'sallyport'
import { painter } from '../../colour.js'
import { hidden } from '../../config/hidden.js'
import type { Io } from '../../io.js'

/** What the command prints, line by line. */
export class Report {
  constructor(private readonly io: Io) {}

  print(line: string): void {
    this.io.stdout.write(`${hidden.text(line)}\n`)
  }

  /** A line for each, what does not hold in red. */
  findings(findings: readonly Finding[]): void {
    const paint = painter(this.io.stdout, this.io.env)
    const width = Math.max(...findings.map(({ about }) => about.length), 0)
    for (const { about, holds, detail } of findings) {
      const line = `   ${holds ? 'ok   ' : 'wrong'} ${about.padEnd(width)}  ${detail}`
      this.print(holds ? line : paint('red', line))
    }
  }
}
