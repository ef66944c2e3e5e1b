import { setTimeout } from 'node:timers/promises'
import {
  ConfigError,
  type Gateway,
  GatewayError,
  type HealthState,
  type OpenTunnel,
  type PublicAddress,
  type Tunnel,
} from 'sallyport'
import { messageOf, waitAtMost, within } from 'sallyport/toolkit'
import { publicOrigin } from '../public-url.js'

export interface ReconnectingTunnelOptions {
  readonly tunnel: Tunnel
  readonly local: URL
  /** Milliseconds until the public URL has to be known. */
  readonly timeout: number
  readonly log: Gateway['log']
}

const FIRST_PAUSE = 1_000
const LONGEST_PAUSE = 60_000
// Milliseconds for an aborted attempt to clean up.
const GRACE = 5_000

/** One tunnel that is kept open: it is opened again when it is lost, until it is closed. */
export class ReconnectingTunnel implements PublicAddress {
  /** Resolves when the tunnel is open for the first time; rejects when the first attempt fails. */
  readonly firstOpened: Promise<void>
  origin: string | undefined
  private state: HealthState = { status: 'down', reason: 'the tunnel is being opened' }
  private readonly watchers = new Set<(origin: string) => void>()
  private readonly closing = new AbortController()
  private readonly closed = new Promise<undefined>((resolve) => {
    this.closing.signal.addEventListener('abort', () => resolve(undefined))
  })
  private readonly ended: Promise<void>

  constructor(private readonly options: ReconnectingTunnelOptions) {
    const first = this.open()
    this.firstOpened = first.then(() => {})
    // `firstOpened` reports the failure of the first attempt.
    this.ended = first.then(
      (open) => this.keepOpen(open),
      () => {},
    )
  }

  check(): HealthState {
    return this.state
  }

  watch(listener: (origin: string) => void): () => void {
    this.watchers.add(listener)
    if (this.origin !== undefined) listener(this.origin)
    return () => this.watchers.delete(listener)
  }

  async close(): Promise<void> {
    this.closing.abort(new Error('the tunnel was closed'))
    await this.ended
  }

  /** One attempt. If it fails, it closes what it has opened before it throws. */
  private async open(): Promise<OpenTunnel> {
    const { tunnel, local, timeout } = this.options
    const attempt = new AbortController()
    const signal = AbortSignal.any([this.closing.signal, attempt.signal])
    const opening = tunnel.open(local, signal)
    try {
      const open = await within(timeout, opening, () => timeoutError(timeout), signal)
      this.acceptUrl(open)
      return open
    } catch (error) {
      attempt.abort(error)
      await waitAtMost(
        GRACE,
        opening.then((open) => this.closeTunnel(open)),
      )
      throw error
    }
  }

  private acceptUrl({ url }: OpenTunnel): void {
    const checked = publicOrigin(url)
    if ('fault' in checked) {
      throw new GatewayError(
        'TUNNEL_URL',
        `the tunnel has a public URL that cannot be used: ${checked.fault}`,
      )
    }
    const before = this.origin
    this.origin = checked.origin
    if (before === undefined) this.markOpen('the tunnel is open')
    else if (before === checked.origin) this.markOpen('the tunnel is open again')
    else this.markMoved(before, checked.origin)
    if (before !== checked.origin) for (const listener of this.watchers) listener(checked.origin)
  }

  private markOpen(message: string): void {
    this.state = { status: 'ok' }
    this.options.log.info({ url: this.origin }, message)
  }

  private markMoved(before: string, origin: string): void {
    const reason = `the public URL is no longer ${before}: clients need ${origin}`
    this.state = { status: 'degraded', reason }
    this.options.log.warn(
      { before, url: origin },
      'the tunnel is open again under another public URL: clients need the new one, and the old one is refused',
    )
  }

  private async keepOpen(first: OpenTunnel): Promise<void> {
    let open = first
    for (let tries = 0; !this.closing.signal.aborted; tries++) {
      const openedAt = performance.now()
      const reason = await this.waitUntilLost(open)
      if (reason === undefined) return
      this.state = { status: 'down', reason: `the tunnel is lost (${reason}) and is being opened again` }
      this.options.log.warn({ reason }, 'the tunnel is lost; the gateway opens it again')
      // A tunnel that is lost again soon gets longer pauses, like one that does not open.
      if (performance.now() - openedAt > LONGEST_PAUSE) tries = 0
      const next = await this.reopen(tries)
      if (next === undefined) return
      open = next
    }
  }

  /** Resolves with the reason of the loss, or undefined when the tunnel was closed. */
  private async waitUntilLost(open: OpenTunnel): Promise<string | undefined> {
    const reason = await Promise.race([open.lost, this.closed])
    await this.closeTunnel(open)
    return reason
  }

  private async closeTunnel(open: OpenTunnel): Promise<void> {
    try {
      await open.close()
    } catch (error) {
      this.options.log.error({ err: error }, 'the tunnel could not be closed completely')
    }
  }

  private async reopen(firstTry: number): Promise<OpenTunnel | undefined> {
    let lastMessage = ''
    for (let tries = firstTry; await this.pause(tries); tries++) {
      try {
        return await this.open()
      } catch (error) {
        if (this.closing.signal.aborted) return undefined
        const message = reasonOf(error)
        this.options.log[message === lastMessage ? 'debug' : 'warn'](
          { err: error },
          'the tunnel cannot be opened again yet',
        )
        lastMessage = message
        this.state = { status: 'down', reason: `the tunnel is lost: ${message}` }
      }
    }
    return undefined
  }

  private async pause(tries: number): Promise<boolean> {
    const backOff = Math.min(FIRST_PAUSE * 2 ** tries, LONGEST_PAUSE)
    // Otherwise all clients of one server would reconnect at once.
    const jittered = backOff * (0.5 + Math.random() / 2)
    try {
      await setTimeout(jittered, undefined, { signal: this.closing.signal })
      return true
    } catch {
      return false
    }
  }
}

const timeoutError = (timeout: number): GatewayError =>
  new GatewayError(
    'TUNNEL_TIMEOUT',
    `no tunnel within ${timeout / 1000} s: --debug shows the output of its program, and --tunnel-timeout allows more time`,
  )

const reasonOf = (error: unknown): string =>
  error instanceof ConfigError ? error.problems.map(({ message }) => message).join('; ') : messageOf(error)
