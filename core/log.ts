import { createRequire } from 'node:module'
import { isatty } from 'node:tty'
import { destination, type Level, type Logger, type LoggerOptions, pino, stdTimeFunctions } from 'pino'
import type { prettyFactory } from 'pino-pretty'
import { Scrubber } from './log/scrubber.js'
import { errorFields, requestFields, responseFields } from './log/serializers.js'

export type Log = Logger

export interface LogOptions {
  readonly level?: Level | 'silent' | undefined
  /** Where lines go in place of stderr. */
  readonly stream?: { write(line: string): unknown } | undefined
  /** Lines for people and not for machines; by default when stderr is a terminal. */
  readonly pretty?: boolean | undefined
  /** What knows the secrets of this boot. Every line passes it at the last moment, at every level. */
  readonly scrubber?: Scrubber | undefined
  /** While it says so, only errors are written: for what another process of the same list has told already. */
  readonly muted?: (() => boolean) | undefined
}

/** A log of JSON lines in which no credential, cookie or query ever stands. */
export function createLog(options: LogOptions = {}): Log {
  const { level = 'info', scrubber = new Scrubber(), muted } = options
  const stream = options.stream ?? destination({ fd: 2, sync: true })
  const pretty = options.pretty ?? (options.stream === undefined && isatty(2))
  const format = pretty ? prettyLines() : (line: string) => line

  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      ...(muted !== undefined && { hooks: quietWhile(muted) }),
      serializers: {
        req: requestFields,
        res: responseFields,
        err: errorFields(level === 'debug' || level === 'trace'),
      },
    },
    { write: (line: string) => void stream.write(format(allEscaped(scrubber.line(line)))) },
  )
}

/** JSON leaves these as they are, and strangers write some of what is logged: terminals obey them or turn text round. */
const allEscaped = (line: string): string =>
  line.replace(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

const ESCAPE = /\\(?:u[\da-f]{4}|.)/g
const WELCOME = new Set(['\\"', '\\\\', '\\/', '\\n', '\\t'])

/** What has to be escaped is still escaped when the printer has read the line. */
const twiceEscaped = (line: string): string =>
  line.replace(ESCAPE, (sequence) => (WELCOME.has(sequence) ? sequence : `\\${sequence}`))

const ERROR = 50

const quietWhile = (muted: () => boolean): LoggerOptions['hooks'] => ({
  logMethod(line, method, level) {
    if (level >= ERROR || !muted()) method.apply(this, line)
  },
})

// Synchronous, because a log that loads its printer later loses the lines of a boot that fails.
function prettyLines(): (line: string) => string {
  const pretty: { prettyFactory: typeof prettyFactory } = createRequire(import.meta.url)('pino-pretty')
  const options = { colorize: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' }
  const print = pretty.prettyFactory(options)
  return (line) => print(twiceEscaped(line))
}
