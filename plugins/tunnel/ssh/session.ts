import { type Gateway, GatewayError } from 'sallyport'
import { connectTo } from './arguments.js'
import { reasonIn } from './reasons.js'

/** Reads what one run of ssh prints: whether the way is open, and why it is not. */
export class Session {
  /** The port on which the server listens, once it does. */
  port: number | undefined
  private reason: GatewayError | undefined
  private lastWords = ''

  constructor(
    private readonly local: URL,
    private readonly wanted: number,
    private readonly log: Gateway['log'],
    /** What was said before and is not worth a second line. */
    private readonly told: Set<string>,
  ) {}

  read(line: string): number | undefined {
    this.tell(line)
    this.reason ??= reasonIn(line)
    this.port ??= this.listening(line)
    return this.port
  }

  private listening(line: string): number | undefined {
    const target = connectTo(this.local)
    if (this.wanted === 0) {
      const [, port, rest] = /^Allocated port (\d+) for remote forward to (.*)$/.exec(line) ?? []
      return rest === target ? Number(port) : undefined
    }
    const granted = line.startsWith('debug1: remote forward success for: listen ')
    return granted && line.endsWith(`:${this.wanted}, connect ${target}`) ? this.wanted : undefined
  }

  /** Why it ended before the way was open. */
  failed(how: string): GatewayError {
    const words = this.lastWords === '' ? 'it said nothing' : this.lastWords
    return this.reason ?? new GatewayError('TUNNEL_ENDED', `ssh ${how}: ${words}`)
  }

  private tell(line: string): void {
    if (/^debug\d: /.test(line)) {
      this.log.debug({ line }, 'ssh')
      return
    }
    this.lastWords = line.slice(0, 200)
    // The reason of a failure is told by the failure.
    const level = this.told.has(line) || reasonIn(line) !== undefined ? 'debug' : 'info'
    this.told.add(line)
    this.log[level]({ line }, 'ssh')
  }
}
