import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Bindings, ChildLoggerOptions } from 'pino'

type Line = Parameters<FastifyBaseLogger['info']>

/** The log of one request. Few requests write a line, so the child logger is made with the first line. */
class RequestLog implements FastifyBaseLogger {
  private created: FastifyBaseLogger | undefined

  constructor(
    private readonly parent: FastifyBaseLogger,
    private readonly bindings: Bindings,
    private readonly options: ChildLoggerOptions,
  ) {}

  get level(): string {
    return this.logger.level
  }

  set level(level: string) {
    this.logger.level = level
  }

  fatal(...line: Line): void {
    this.logger.fatal(...line)
  }

  error(...line: Line): void {
    this.logger.error(...line)
  }

  warn(...line: Line): void {
    this.logger.warn(...line)
  }

  info(...line: Line): void {
    this.logger.info(...line)
  }

  debug(...line: Line): void {
    this.logger.debug(...line)
  }

  trace(...line: Line): void {
    this.logger.trace(...line)
  }

  silent(): void {}

  child(bindings: Bindings, options?: ChildLoggerOptions): FastifyBaseLogger {
    return this.logger.child(bindings, options)
  }

  private get logger(): FastifyBaseLogger {
    this.created ??= this.parent.child(this.bindings, this.options)
    return this.created
  }
}

export const createRequestLog: Parameters<FastifyInstance['setChildLoggerFactory']>[0] = (
  parent,
  bindings,
  options,
) => new RequestLog(parent, bindings, options)
