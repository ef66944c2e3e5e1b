import { setTimeout } from 'node:timers/promises'
import {
  ConfigError,
  type Gateway,
  GatewayError,
  type HealthState,
  type OpenTunnel,
  type PublicAddress,
  type Tunnel,
  within,
} from 'sallyport'
import { publicOrigin } from '../public-url.js'

export interface WayOptions {
  readonly tunnel: Tunnel
  readonly local: URL
  /** Milliseconds until the public URL has to be known. */
  readonly timeout: number
  readonly log: Gateway['log']
}

const FIRST_PAUSE = 1_000
const LONGEST_PAUSE = 60_000
// Time for an attempt that was given up to leave nothing behind.
const GRACE = 5_000

/** One tunnel that is kept open: opened, watched, and opened again when it is lost, until it is closed. */
export class Way implements PublicAddress {
  /** Settles when the way stood for the first time; fails when the first attempt did. */
  readonly begun: Promise<void>
  origin: string | undefined
  private state: HealthState = { status: 'down', reason: 'the tunnel is being opened' }
  private readonly watchers = new Set<(origin: string) => void>()
  private readonly closing = new AbortController()
  private readonly over: Promise<void>

  constructor(private readonly options: WayOptions) {
    const first = this.open()
    this.begun = first.then(() => {})
    // Whoever waits for the first attempt hears of its failure; then there is nothing to keep.
    this.over = first.then(
      (open) => this.keep(open),
      () => {},
    )
  }

  check(): HealthState {
    return this.state
  }

  watch(tell: (origin: string) => void): () => void {
    this.watchers.add(tell)
    if (this.origin !== undefined) tell(this.origin)
    return () => this.watchers.delete(tell)
  }

  async close(): Promise<void> {
    this.closing.abort(new Error('the tunnel was closed'))
    await this.over
  }

  /** One attempt. What it left behind is taken down before its failure is told. */
  private async open(): Promise<OpenTunnel> {
    const { tunnel, local, timeout } = this.options
    const giveUp = new AbortController()
    const signal = AbortSignal.any([this.closing.signal, giveUp.signal])
    const opening = tunnel.open(local, signal)
    try {
      const open = await within(timeout, opening, () => late(timeout), signal)
      this.judge(open)
      return open
    } catch (error) {
      giveUp.abort(error)
      const gone = opening.then((open) => this.takeDown(open)).catch(() => {})
      await Promise.race([gone, setTimeout(GRACE)])
      throw error
    }
  }

  private judge({ url }: OpenTunnel): void {
    const judged = publicOrigin(url)
    if ('fault' in judged) {
      throw new GatewayError(
        'TUNNEL_URL',
        `the tunnel told a public URL that cannot be used: ${judged.fault}`,
      )
    }
    const before = this.origin
    this.origin = judged.origin
    if (before === undefined) this.stands('the tunnel is open')
    else if (before === judged.origin) this.stands('the tunnel is open again')
    else this.moved(before, judged.origin)
    if (before !== judged.origin) for (const tell of this.watchers) tell(judged.origin)
  }

  private stands(message: string): void {
    this.state = { status: 'ok' }
    this.options.log.info({ url: this.origin }, message)
  }

  private moved(before: string, origin: string): void {
    const reason = `the public URL is no longer ${before}: clients need ${origin}`
    this.state = { status: 'degraded', reason }
    this.options.log.warn(
      { before, url: origin },
      'the tunnel is open again under another public URL: the one before is refused, and clients need the new one',
    )
  }

  private async keep(first: OpenTunnel): Promise<void> {
    let open = first
    for (let tries = 0; !this.closing.signal.aborted; tries++) {
      const since = Date.now()
      const reason = await this.watchOver(open)
      if (reason === undefined) return
      this.state = { status: 'down', reason: `the tunnel is lost (${reason}) and is being opened again` }
      this.options.log.warn({ reason }, 'the tunnel is lost; it is opened again')
      // One that falls again and again is given longer pauses, as one that does not open at all.
      if (Date.now() - since > LONGEST_PAUSE) tries = 0
      const next = await this.reopen(tries)
      if (next === undefined) return
      open = next
    }
  }

  /** Answers why it was lost, or nothing when it was closed. */
  private async watchOver(open: OpenTunnel): Promise<string | undefined> {
    const { signal } = this.closing
    const closed = new Promise<undefined>((resolve) => {
      if (signal.aborted) resolve(undefined)
      else signal.addEventListener('abort', () => resolve(undefined), { once: true })
    })
    const reason = await Promise.race([open.lost, closed])
    await this.takeDown(open)
    return reason
  }

  private async takeDown(open: OpenTunnel): Promise<void> {
    try {
      await open.close()
    } catch (error) {
      this.options.log.error({ err: error }, 'something of the tunnel may be left')
    }
  }

  private async reopen(begin: number): Promise<OpenTunnel | undefined> {
    let told = ''
    for (let tries = begin; await this.pause(tries); tries++) {
      try {
        return await this.open()
      } catch (error) {
        if (this.closing.signal.aborted) return undefined
        const message = messageOf(error)
        this.options.log[message === told ? 'debug' : 'warn'](
          { err: error },
          'the tunnel cannot be opened again yet',
        )
        told = message
        this.state = { status: 'down', reason: `the tunnel is lost: ${message}` }
      }
    }
    return undefined
  }

  private async pause(tries: number): Promise<boolean> {
    const backOff = Math.min(FIRST_PAUSE * 2 ** tries, LONGEST_PAUSE)
    // All that lost the same server would come back to it at once.
    const jittered = backOff * (0.5 + Math.random() / 2)
    try {
      await setTimeout(jittered, undefined, { signal: this.closing.signal })
      return true
    } catch {
      return false
    }
  }
}

const late = (timeout: number): GatewayError =>
  new GatewayError(
    'TUNNEL_TIMEOUT',
    `no tunnel within ${timeout / 1000} s: --debug shows what was said meanwhile, and --tunnel-timeout gives it longer`,
  )

const messageOf = (error: unknown): string => {
  if (error instanceof ConfigError) return error.problems.map(({ message }) => message).join('; ')
  return error instanceof Error ? error.message : String(error)
}
