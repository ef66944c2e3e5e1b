import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Bindings, ChildLoggerOptions } from 'pino'

type Line = Parameters<FastifyBaseLogger['info']>

/** The log of one request. Few requests write a line, so what knows its id is made for the first that does. */
class RequestLog implements FastifyBaseLogger {
  private made: FastifyBaseLogger | undefined

  constructor(
    private readonly parent: FastifyBaseLogger,
    private readonly bindings: Bindings,
    private readonly options: ChildLoggerOptions,
  ) {}

  get level(): string {
    return this.own.level
  }

  set level(level: string) {
    this.own.level = level
  }

  fatal(...line: Line): void {
    this.own.fatal(...line)
  }

  error(...line: Line): void {
    this.own.error(...line)
  }

  warn(...line: Line): void {
    this.own.warn(...line)
  }

  info(...line: Line): void {
    this.own.info(...line)
  }

  debug(...line: Line): void {
    this.own.debug(...line)
  }

  trace(...line: Line): void {
    this.own.trace(...line)
  }

  silent(): void {}

  child(bindings: Bindings, options?: ChildLoggerOptions): FastifyBaseLogger {
    return this.own.child(bindings, options)
  }

  private get own(): FastifyBaseLogger {
    this.made ??= this.parent.child(this.bindings, this.options)
    return this.made
  }
}

export const logOfRequest: Parameters<FastifyInstance['setChildLoggerFactory']>[0] = (
  parent,
  bindings,
  options,
) => new RequestLog(parent, bindings, options)
