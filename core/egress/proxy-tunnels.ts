import { type ClientRequest, request as plainRequest } from 'node:http'
import { type RequestOptions, request as secureRequest } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { failureSentence } from './failure.js'
import { loadConnector, type Undici } from './undici.js'

/** Where a tunnel leads, in the words of `URL`; undici writes an IPv6 address without brackets. */
export type Destination = Pick<URL, 'protocol' | 'hostname' | 'port'>

/** Why no tunnel was opened; `status` is what the proxy answered, if it did. It holds no user and no password. */
type TunnelFailure = Error & { readonly status?: number }

export type Tunnelled = (
  ...result: [error: TunnelFailure, socket: null] | [error: null, socket: Socket]
) => void

export interface TunnelOptions {
  /** Milliseconds for all of it: the connection to the proxy, its answer, and TLS at the other end. */
  readonly timeout: number
  /** The only authorities to trust at the other end, in place of the ones that come with Node. */
  readonly authorities?: string | undefined
}

/** Opens connections through one HTTP proxy, by CONNECT. It knows those it is opening, so that closing leaves none. */
export class ProxyTunnels {
  readonly #way: Way
  readonly #opening = new Set<Opening>()
  #closed = false

  constructor(proxy: string, { timeout, authorities }: TunnelOptions) {
    const url = new URL(proxy)
    this.#way = {
      proxy: url,
      authorization: authorizationOf(url),
      timeout,
      // Its own limit would count anew from the proxy's answer.
      secure: loadConnector()({ ca: authorities, timeout: 0 }),
    }
  }

  /** The proxy, without user and password. */
  get origin(): string {
    return this.#way.proxy.origin
  }

  /**
   * Calls back once: with a connection that nobody has read from, TLS and all where the destination asks for it, or
   * with what went wrong. The function that it returns gives up.
   */
  open(to: Destination, tunnelled: Tunnelled): () => void {
    const opening = new Opening(this.#way, to, (...result) => {
      this.#opening.delete(opening)
      tunnelled(...result)
    })
    this.#opening.add(opening)
    if (this.#closed) process.nextTick(() => opening.giveUp())
    else opening.start()
    return () => opening.giveUp()
  }

  /** Gives up whatever is being opened. What is open belongs to whom it was given to. */
  close(): void {
    this.#closed = true
    for (const opening of this.#opening) opening.giveUp()
  }
}

interface Way {
  readonly proxy: URL
  readonly authorization: string | undefined
  readonly timeout: number
  readonly secure: ReturnType<Undici['buildConnector']>
}

const MAX_HEAD = 16 * 1024

class Opening {
  readonly #way: Way
  readonly #to: Destination
  readonly #authority: string
  readonly #done: Tunnelled
  #request: ClientRequest | undefined
  #tunnel: Socket | undefined
  #timer: NodeJS.Timeout | undefined
  #over = false

  constructor(way: Way, to: Destination, done: Tunnelled) {
    this.#way = way
    this.#to = to
    const port = to.port === '' ? (to.protocol === 'https:' ? 443 : 80) : to.port
    this.#authority = `${bracketed(to.hostname)}:${port}`
    this.#done = done
  }

  start(): void {
    const { proxy, authorization, timeout } = this.#way
    const host = bare(proxy.hostname)
    const options: RequestOptions = {
      host,
      port: proxy.port,
      // Node would take it from the header, which names the other end.
      servername: isIP(host) === 0 ? host : '',
      method: 'CONNECT',
      path: this.#authority,
      headers: {
        host: this.#authority,
        connection: 'keep-alive',
        ...(authorization !== undefined && { 'proxy-authorization': authorization }),
      },
      agent: false,
      maxHeaderSize: MAX_HEAD,
    }
    const request = (proxy.protocol === 'https:' ? secureRequest : plainRequest)(options)
    this.#request = request
    this.#timer = setTimeout(() => this.#late(), timeout)
    request
      .on('connect', ({ statusCode = 0 }, socket: Socket, early) => this.#answered(statusCode, socket, early))
      .on('error', (error) => this.#refused(failureSentence(error)))
      .end()
  }

  giveUp(): void {
    this.#fail(Object.assign(new Error('given up'), { code: 'EGRESS_CLOSED' }))
  }

  #answered(status: number, socket: Socket, early: Buffer): void {
    this.#tunnel = socket
    // TLS tells of its errors by itself, and of its end not always.
    socket.on('error', ignore).once('close', this.#cut)
    if (status < 200 || status > 299) {
      this.#refused(`it answered ${status}`, status)
      return
    }
    if (early.length > 0) socket.unshift(early)
    const { protocol, hostname, port } = this.#to
    if (protocol !== 'https:') {
      this.#opened(socket.setNoDelay(true).setKeepAlive(true, 60_000))
      return
    }
    const to = { protocol, host: bracketed(hostname), hostname: bare(hostname), port, httpSocket: socket }
    this.#way.secure(to, (error, secured) => {
      if (error === null) this.#opened(secured)
      else this.#fail(error)
    })
  }

  readonly #cut = (): void =>
    this.#fail(Object.assign(new Error('the tunnel was closed'), { code: 'ECONNRESET' }))

  #opened(socket: Socket): void {
    if (this.#over) return
    this.#settle()
    this.#tunnel?.off('close', this.#cut)
    this.#done(null, socket)
  }

  #late(): void {
    if (this.#tunnel !== undefined) {
      this.#fail(Object.assign(new Error('no TLS session in time'), { code: 'UND_ERR_CONNECT_TIMEOUT' }))
    } else this.#refused('it did not answer in time', undefined, 'EGRESS_PROXY_TIMEOUT')
  }

  #refused(reason: string, status?: number, code = 'EGRESS_PROXY'): void {
    const message = `${this.#way.proxy.origin} opened no tunnel to ${this.#authority}: ${reason}`
    this.#fail(Object.assign(new Error(message), { code, ...(status !== undefined && { status }) }))
  }

  #fail(error: TunnelFailure): void {
    if (this.#over) return
    this.#settle()
    this.#request?.destroy()
    this.#tunnel?.destroy()
    this.#done(error, null)
  }

  #settle(): void {
    this.#over = true
    clearTimeout(this.#timer)
  }
}

const ignore = (): void => {}

const bare = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1')

const bracketed = (hostname: string): string => (hostname.includes(':') ? `[${bare(hostname)}]` : hostname)

function authorizationOf({ username, password }: URL): string | undefined {
  if (username === '') return undefined
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}
