import { type Level, type Logger, type LoggerOptions, pino } from 'pino'
import { TimeText } from '../toolkit/time-text.js'
import { DroppedLines } from './dropped-lines.js'
import { prettyLines } from './pretty.js'
import { LogScrubber } from './scrubber.js'
import { errorFields, requestFields, responseFields } from './serializers.js'
import { StderrLines } from './stderr.js'

export type Log = Logger

export interface LogOptions {
  readonly level?: Level | 'silent' | undefined
  /** Shared with the other logs of this process. */
  readonly stderr?: StderrLines | undefined
  /** Receives the lines instead of stderr. */
  readonly stream?: { readonly isTTY?: boolean; write(line: string): unknown } | undefined
  /** Writes lines for people instead of JSON; by default when stderr is a terminal. */
  readonly pretty?: boolean | undefined
  /** Holds the secrets of this boot. Every line passes through it last, at every level. */
  readonly scrubber?: LogScrubber | undefined
  /**
   * While it returns true, the log writes only errors: for a process whose other lines another process of the list
   * writes too.
   */
  readonly muted?: (() => boolean) | undefined
}

/**
 * A log of JSON lines without credentials, cookies and queries. Logging never throws: a line that cannot be written is
 * dropped and counted.
 */
export function createLog(options: LogOptions = {}): Log {
  const { level = 'info', scrubber = new LogScrubber(), muted } = options
  const stream = options.stream ?? options.stderr ?? new StderrLines(options.pretty)
  const dropped = stream instanceof StderrLines ? stream.dropped : new DroppedLines()
  const format =
    options.stream !== undefined && options.pretty === true
      ? prettyLines(options.stream.isTTY === true)
      : (line: string) => line

  const clock = new TimeText()
  const log = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${clock.of(Date.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
      hooks: loggingHooks(muted, dropped),
      serializers: {
        req: requestFields,
        res: responseFields,
        err: errorFields(level === 'debug' || level === 'trace'),
      },
    },
    { write: (line: string) => void stream.write(format(escapeControls(scrubber.line(line)))) },
  )
  return dropped.attachTo(log)
}

/**
 * JSON does not escape these characters, and callers control some of the logged text: terminals obey them or reverse
 * the text.
 */
const escapeControls = (line: string): string =>
  line.replace(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

const ERROR = 50

const loggingHooks = (muted: (() => boolean) | undefined, dropped: DroppedLines): LoggerOptions['hooks'] => ({
  logMethod(line, method, level) {
    if (level < ERROR && muted?.() === true) return
    try {
      method.apply(this, line)
    } catch {
      dropped.count(1)
    }
  },
})
