import type { FastifyBaseLogger } from 'fastify'
import type { Logger } from 'pino'

type Level = 'error' | 'warn' | 'info' | 'debug'
type Fields = Readonly<Record<string, unknown>>

interface Kind {
  readonly level: Level
  /** The fields that all lines of this kind share. */
  readonly common: Fields
  readonly message: string
  count: number
}

/** The most lines of one kind that are written in a window, and the milliseconds of a window. */
const LINES_PER_KIND = 10
const WINDOW_MS = 60_000
/**
 * How many kinds one window counts separately; all others count as one more kind. Errors have as many of their own.
 */
const MAX_KINDS = 64
const OTHER = 'requests that failed in other ways'

/**
 * Limits log lines that a caller can cause without credentials and in any number: writes the first few of a kind in
 * a window, and at the end of the window one line with the number of further ones.
 */
export class LogThrottle {
  // Callers without a token can cause any number of kinds of refusals, which must not hide an error.
  private readonly errors = new Map<string, Kind>()
  private readonly others = new Map<string, Kind>()
  private timer: NodeJS.Timeout | undefined

  constructor(private readonly log: Logger) {}

  /**
   * `common` separates kinds of one message, and its fields are in the summary too; `extra` is only in the line
   * itself.
   */
  write(log: FastifyBaseLogger, level: Level, message: string, common: Fields, extra: Fields = {}): void {
    if (!this.log.isLevelEnabled(level)) return
    const kind = this.kindOf(level, message, common)
    kind.count++
    if (kind.count <= LINES_PER_KIND) log[level]({ ...common, ...extra }, message)
  }

  /** Ends the window: writes a summary of the lines that were only counted. */
  flush(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    for (const { level, common, message, count } of [...this.errors.values(), ...this.others.values()]) {
      if (count > LINES_PER_KIND)
        this.log[level]({ ...common, more: count - LINES_PER_KIND }, `${message}, and more of the same`)
    }
    this.errors.clear()
    this.others.clear()
  }

  private kindOf(level: Level, message: string, common: Fields): Kind {
    const kinds = level === 'error' ? this.errors : this.others
    const key = [level, message, ...Object.values(common)].join('\n')
    const known = kinds.get(key)
    if (known !== undefined) return known
    if (kinds.size < MAX_KINDS) return this.addKind(kinds, key, { level, message, common, count: 0 })
    return (
      kinds.get(OTHER) ?? this.addKind(kinds, OTHER, { level: 'warn', message: OTHER, common: {}, count: 0 })
    )
  }

  private addKind(kinds: Map<string, Kind>, key: string, kind: Kind): Kind {
    kinds.set(key, kind)
    this.timer ??= setTimeout(() => this.flush(), WINDOW_MS).unref()
    return kind
  }
}
