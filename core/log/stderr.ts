import { constants, fstatSync, openSync } from 'node:fs'
import { isatty } from 'node:tty'
import { DroppedLines } from './dropped-lines.js'
import { LineSink } from './line-sink.js'
import { prettyLines } from './pretty.js'

const STDERR = 2
/** Milliseconds that the end of the process waits for the reader. */
const EXIT_FLUSH_LIMIT = 1_000

/** Writes to stderr. Logs that share one keep their lines in order, and have one queue. */
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

/** A descriptor of stderr that does not block: a reader that does not read must not stop the process. */
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
    // A write to it will show whether it works.
  }
  return STDERR
}

/** Opened again, the descriptor is this process's own: processes that share a pipe switch its blocking mode for each other. */
function reopenStderr(): number | undefined {
  try {
    return openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    return undefined
  }
}
