import { type Gateway, GatewayError } from 'sallyport'
import { printedTarget } from './arguments.js'
import { reasonIn } from './reasons.js'

/** Reads the output of one run of ssh: whether the tunnel is open, or why it is not. */
export class SshSession {
  /** The port on which the server listens, once it listens. */
  port: number | undefined
  private reason: GatewayError | undefined
  private lastLine = ''

  constructor(
    private readonly local: URL,
    private readonly requestedPort: number,
    private readonly log: Gateway['log'],
    /** Lines that were logged before: a repeated line is logged at debug level only. */
    private readonly logged: Set<string>,
  ) {}

  read(line: string): number | undefined {
    this.logLine(line)
    this.reason ??= reasonIn(line)
    this.port ??= this.listeningPort(line)
    return this.port
  }

  private listeningPort(line: string): number | undefined {
    const target = printedTarget(this.local)
    if (this.requestedPort === 0) {
      const [, port, rest] = /^Allocated port (\d+) for remote forward to (.*)$/.exec(line) ?? []
      return rest === target ? Number(port) : undefined
    }
    const granted = line.startsWith('debug1: remote forward success for: listen ')
    return granted && line.endsWith(`:${this.requestedPort}, connect ${target}`)
      ? this.requestedPort
      : undefined
  }

  /** The error for a run that ended before the tunnel was open. */
  failed(how: string): GatewayError {
    const output = this.lastLine === '' ? 'it printed nothing' : this.lastLine
    return this.reason ?? new GatewayError('TUNNEL_ENDED', `ssh ${how}: ${output}`)
  }

  private logLine(line: string): void {
    if (/^debug\d: /.test(line)) {
      this.log.debug({ line }, 'ssh')
      return
    }
    this.lastLine = line.slice(0, 200)
    // A reason of a failure is in the error, so its line needs only the debug level.
    const level = this.logged.has(line) || reasonIn(line) !== undefined ? 'debug' : 'info'
    this.logged.add(line)
    this.log[level]({ line }, 'ssh')
  }
}
