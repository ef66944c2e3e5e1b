import { type ClientRequest, request as plainRequest } from 'node:http'
import { type RequestOptions, request as secureRequest } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { type SecureContext, connect as secureConnect } from 'node:tls'
import { formatHostPort, portOf } from '../toolkit/host-port.js'
import { failureSentence } from './failure.js'

/** The other end of a tunnel, with the fields of `URL`; undici writes an IPv6 address without brackets. */
export type Destination = Pick<URL, 'protocol' | 'hostname' | 'port'>

/**
 * Why no tunnel was opened. `status` is that of the response of the proxy, if there was one. It holds no user and no
 * password.
 */
type TunnelFailure = Error & { readonly status?: number }

export type TunnelCallback = (
  ...result: [error: TunnelFailure, socket: null] | [error: null, socket: Socket]
) => void

export interface TunnelOptions {
  /** Milliseconds for the whole attempt: the connection to the proxy, its response, and TLS with the destination. */
  readonly timeout: number
  /** PEM certificates to trust for the destination, instead of Node's. */
  readonly authorities?: string | undefined
  /** Certificates for the next connection to the destination, instead of `authorities`. */
  readonly secureContext?: (() => SecureContext) | undefined
}

/**
 * Opens connections through one HTTP proxy, by CONNECT. By hand: undici's `ProxyAgent` loses repeated headers,
 * reports a proxy that is down as a target that is down, and does not serve `node:http`. It keeps track of
 * unfinished attempts, so that `close` leaves none.
 */
export class ProxyTunnels {
  // It holds the proxy's password, which no inspection of this object may show.
  readonly #settings: ProxySettings
  private readonly attempts = new Set<TunnelAttempt>()
  private closed = false

  constructor(proxy: string, options: TunnelOptions) {
    const url = new URL(proxy)
    this.#settings = { ...options, url, authorization: authorizationOf(url) }
  }

  /** The proxy, without user and password. */
  get origin(): string {
    return this.#settings.url.origin
  }

  /**
   * Calls `callback` once: with a connection from which no byte was read, with TLS where the destination is https,
   * or with an error. The returned function ends the attempt.
   */
  open(to: Destination, callback: TunnelCallback): () => void {
    const attempt = new TunnelAttempt(this.#settings, to, (...result) => {
      this.attempts.delete(attempt)
      callback(...result)
    })
    this.attempts.add(attempt)
    if (this.closed) process.nextTick(() => attempt.cancel())
    else attempt.start()
    return () => attempt.cancel()
  }

  /** Ends the unfinished attempts. An open tunnel belongs to the code that it was passed to. */
  close(): void {
    this.closed = true
    for (const attempt of this.attempts) attempt.cancel()
  }
}

interface ProxySettings extends TunnelOptions {
  readonly url: URL
  readonly authorization: string | undefined
}

const MAX_HEAD = 16 * 1024

class TunnelAttempt {
  // It holds the proxy's password.
  readonly #settings: ProxySettings
  private readonly authority: string
  private request: ClientRequest | undefined
  private tunnel: Socket | undefined
  private timer: NodeJS.Timeout | undefined
  private isDone = false

  constructor(
    settings: ProxySettings,
    private readonly to: Destination,
    private readonly done: TunnelCallback,
  ) {
    this.#settings = settings
    this.authority = formatHostPort({ host: withoutBrackets(to.hostname), port: portOf(to) })
  }

  start(): void {
    const { url, authorization, timeout } = this.#settings
    const host = withoutBrackets(url.hostname)
    const options: RequestOptions = {
      host,
      port: url.port,
      // Node would take it from the `Host` header, which names the destination.
      servername: serverName(host),
      method: 'CONNECT',
      path: this.authority,
      headers: {
        host: this.authority,
        connection: 'keep-alive',
        ...(authorization !== undefined && { 'proxy-authorization': authorization }),
      },
      agent: false,
      maxHeaderSize: MAX_HEAD,
    }
    const request = (url.protocol === 'https:' ? secureRequest : plainRequest)(options)
    this.request = request
    this.timer = setTimeout(() => this.onTimeout(), timeout)
    request
      .on('connect', ({ statusCode = 0 }, socket: Socket, early) =>
        this.onResponse(statusCode, socket, early),
      )
      .on('error', (error) => this.refused(failureSentence(error)))
      .end()
  }

  cancel(): void {
    this.fail(Object.assign(new Error('cancelled'), { code: 'EGRESS_CLOSED' }))
  }

  private onResponse(status: number, socket: Socket, early: Buffer): void {
    this.tunnel = socket
    // The TLS socket emits its own errors, but does not always report that this socket closed.
    socket.on('error', ignore).once('close', this.closedEarly)
    if (status < 200 || status > 299) {
      this.refused(`it answered ${status}`, status)
      return
    }
    if (early.length > 0) socket.unshift(early)
    socket.setNoDelay(true).setKeepAlive(true, 60_000)
    if (this.to.protocol === 'https:') this.secure(socket)
    else this.succeed(socket)
  }

  private secure(socket: Socket): void {
    const { authorities, secureContext } = this.#settings
    const host = withoutBrackets(this.to.hostname)
    const secured = secureConnect({
      socket,
      host,
      servername: serverName(host),
      ca: authorities,
      secureContext: secureContext?.(),
      ALPNProtocols: ['http/1.1'],
    })
    secured.once('secureConnect', () => this.succeed(secured)).on('error', (error) => this.fail(error))
  }

  private readonly closedEarly = (): void =>
    this.fail(Object.assign(new Error('the tunnel was closed'), { code: 'ECONNRESET' }))

  private succeed(socket: Socket): void {
    if (this.isDone) return
    this.settle()
    this.tunnel?.off('close', this.closedEarly)
    this.done(null, socket)
  }

  private onTimeout(): void {
    if (this.tunnel !== undefined) {
      this.fail(Object.assign(new Error('no TLS session in time'), { code: 'UND_ERR_CONNECT_TIMEOUT' }))
    } else this.refused('it did not answer in time', undefined, 'EGRESS_PROXY_TIMEOUT')
  }

  private refused(reason: string, status?: number, code = 'EGRESS_PROXY'): void {
    const message = `${this.#settings.url.origin} opened no tunnel to ${this.authority}: ${reason}`
    this.fail(Object.assign(new Error(message), { code, ...(status !== undefined && { status }) }))
  }

  private fail(error: TunnelFailure): void {
    if (this.isDone) return
    this.settle()
    this.request?.destroy()
    this.tunnel?.destroy()
    this.done(error, null)
  }

  private settle(): void {
    this.isDone = true
    clearTimeout(this.timer)
  }
}

const ignore = (): void => {}

/** SNI has no addresses (RFC 6066, 3). */
const serverName = (host: string): string => (isIP(host) === 0 ? host : '')

const withoutBrackets = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1')

function authorizationOf({ username, password }: URL): string | undefined {
  if (username === '') return undefined
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}
