import { constants, fstatSync, openSync } from 'node:fs'
import { isatty } from 'node:tty'
import { DroppedLines } from './dropped-lines.js'
import { LineSink } from './line-sink.js'
import { prettyLines } from './pretty.js'

const STDERR = 2
/** Milliseconds for which the process waits for the reader at its end. */
const EXIT_FLUSH_LIMIT = 1_000

/** Writes to stderr. Logs that share one instance keep their lines in order, in one queue. */
export class StderrLines {
  readonly dropped = new DroppedLines()
  private readonly format: (line: string) => string
  private sink: LineSink | undefined

  constructor(pretty = isatty(STDERR)) {
    this.format = pretty ? prettyLines(isatty(STDERR)) : (line) => line
  }

  write(line: string): void {
    this.sink ??= this.open()
    this.sink.write(this.format(line))
  }

  private open(): LineSink {
    const notice = (lines: number): string => this.format(droppedNotice(lines))
    const sink = new LineSink(openStderr(), notice, (lines) => this.dropped.count(lines))
    process.on('exit', () => sink.flushSync(EXIT_FLUSH_LIMIT))
    return sink
  }
}

function droppedNotice(lines: number): string {
  const msg = 'lines of the log could not be written and are missing here'
  return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), lines, msg })}\n`
}

/** A descriptor of stderr that does not block, so that a reader that stops reading does not stop the process. */
function openStderr(): number {
  try {
    const kind = fstatSync(STDERR)
    if (kind.isFIFO() || isatty(STDERR)) {
      const reopened = reopenStderr()
      if (reopened !== undefined) return reopened
    }
    // Node makes a pipe or a socket non-blocking when it makes a stream of it.
    if (kind.isFIFO() || kind.isSocket()) void process.stderr
  } catch {
    // The first write shows whether the descriptor works.
  }
  return STDERR
}

/**
 * Opens stderr again, for a descriptor of this process alone: processes that share a pipe switch its blocking mode
 * for each other.
 */
function reopenStderr(): number | undefined {
  try {
    return openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    return undefined
  }
}
