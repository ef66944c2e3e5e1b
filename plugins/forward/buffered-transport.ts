import type { Socket } from 'node:net'
import type { buildConnector, Dispatcher, Pool } from 'undici'
import { responseTimeout } from './failures.js'
import type { Target } from './target.js'
import {
  announcesBody,
  type Call,
  type ConnectionSettings,
  endsWithHead,
  type OutgoingRequest,
  type ResponseHandler,
  type ResponseHead,
  type Transport,
} from './transport.js'

type Connector = buildConnector.connector

/**
 * The transport for requests whose small body was read, which are nearly all requests. It uses undici's dispatcher
 * directly, without streams, promises or header objects.
 */
export class BufferedTransport implements Transport {
  private pool: Pool | undefined
  private opening: Promise<void> | undefined
  /** Pools with old certificates. Their only connections are those in use. */
  private readonly retired = new Set<Pool>()
  private closed = false

  constructor(
    private readonly target: Target,
    private readonly connecting: ConnectionSettings,
  ) {
    connecting.tls?.onChange(() => this.renew())
  }

  send(outgoing: OutgoingRequest, handler: ResponseHandler): Call {
    const call = new BufferedCall(handler, outgoing.timeout)
    if (this.pool !== undefined) dispatch(this.pool, outgoing, call)
    else void this.dispatchLater(outgoing, call).catch((error: Error) => call.onError(error))
    return call
  }

  close(): void {
    this.closed = true
    void this.pool?.destroy()
    for (const pool of this.retired) void pool.destroy()
  }

  /** Certificates have changed: no further request goes over an open connection. */
  private renew(): void {
    const { pool, retired } = this
    if (pool === undefined) return
    this.pool = undefined
    this.opening = undefined
    retired.add(pool)
    const remove = (): void => void retired.delete(pool)
    pool.close().then(remove, remove)
  }

  private async dispatchLater(outgoing: OutgoingRequest, call: BufferedCall): Promise<void> {
    this.opening ??= this.open()
    await this.opening
    if (this.pool !== undefined) dispatch(this.pool, outgoing, call)
    else call.onError(new Error('the gateway is stopping'))
  }

  /** Opens the pool at the first call: loading undici takes as long as loading Fastify, and would delay the start. */
  private async open(): Promise<void> {
    const { default: undici } = await import('undici')
    if (this.closed) return
    const { tunnels, tls, ...others } = this.connecting
    const direct = { ...others, ...(tls !== undefined && { secureContext: tls.secureContext }) }
    const to = new URL(this.target.origin)
    const connect: Connector =
      tunnels === undefined
        ? undici.buildConnector(direct)
        : (_options, opened) => void tunnels.open(to, opened)
    // Without undici's own timers, which outlive their calls by up to a second and keep them in memory.
    this.pool = new undici.Pool(this.target.origin, {
      connect: withoutContinue(connect),
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }
}

function dispatch(pool: Pool, { method, path, headers, body }: OutgoingRequest, call: BufferedCall): void {
  pool.dispatch({ method, path, headers, body: Buffer.isBuffer(body) ? body : null }, call)
}

/** Uses undici's older handler: the newer one parses headers into an object, and loses order, case and repeats. */
class BufferedCall implements Dispatcher.DispatchHandler, Call {
  private abortRequest: ((error?: Error) => void) | undefined
  private resumeResponse: (() => void) | undefined
  private timer: NodeJS.Timeout | undefined
  private headOnly = false
  private ended = false

  constructor(
    private readonly handler: ResponseHandler,
    private readonly timeout: number,
  ) {}

  onConnect(abort: (error?: Error) => void): void {
    if (this.ended) {
      abort()
      return
    }
    this.abortRequest = abort
    if (this.timeout > 0) this.timer = setTimeout(onTimeout, this.timeout, this)
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, reason: string): boolean {
    // Informational responses come before the final one.
    if (status < 200 || this.ended) return true
    clearTimeout(this.timer)
    this.resumeResponse = resume
    const head: ResponseHead = { status, reason: rawReason(reason), headers: headers.map(latin1) }
    // undici takes a length without a body for a truncated response, but a 304 may have a length.
    this.headOnly = endsWithHead('', status)
    const wantsMore = this.handler.onHead(head, this)
    if (this.headOnly && wantsMore) this.onComplete(null)
    if (announcesBody(head)) this.abortRequest?.()
    return wantsMore
  }

  onData(chunk: Buffer): boolean {
    return this.ended || this.handler.onData(chunk)
  }

  onComplete(trailers: string[] | null): void {
    if (this.ended) return
    this.ended = true
    // The types say strings, but undici passes buffers, as for headers.
    this.handler.onEnd((trailers ?? []).map(latin1))
  }

  onError(error: Error): void {
    if (this.ended) return
    this.ended = true
    clearTimeout(this.timer)
    this.handler.onError(error)
  }

  onTimeout(): void {
    this.onError(responseTimeout())
    this.abortRequest?.()
  }

  resume(): void {
    if (this.headOnly) this.onComplete(null)
    this.resumeResponse?.()
  }

  abort(): void {
    if (this.ended) return
    this.ended = true
    clearTimeout(this.timer)
    this.abortRequest?.()
  }
}

const onTimeout = (call: BufferedCall): void => call.onTimeout()

const latin1 = (text: Buffer | string): string => (typeof text === 'string' ? text : text.toString('latin1'))

// undici reads the reason as UTF-8; on the wire it is bytes.
const rawReason = (reason: string): string =>
  ASCII.test(reason) ? reason : Buffer.from(reason).toString('latin1')

const ASCII = /^[\x20-\x7e]*$/

const CONTINUE = Buffer.from('HTTP/1.1 100')
const END_OF_HEAD = '\r\n\r\n'
const LONGEST_HEAD = 16 * 1024

/**
 * Opens connections that skip `100 Continue`. No request asks for it here, but a client has to accept it (RFC 9110,
 * 15.2), and undici would close the connection.
 */
function withoutContinue(open: Connector): Connector {
  return (options, callback) =>
    open(options, (...outcome) => {
      // undici leaves out the second argument where its types say null.
      if (outcome[0] === null) skipContinue(outcome[1])
      callback(...outcome)
    })
}

/** Reads before undici does, and puts back the bytes that undici has to read. */
function skipContinue(socket: Socket): void {
  // undici writes a request at once, after the last response has ended: so after more bytes written, a response begins.
  let writtenBefore = socket.bytesWritten
  let pending: Buffer | undefined
  socket.on('readable', () => {
    const { bytesWritten } = socket
    if (bytesWritten === writtenBefore) return
    const chunk: Buffer | null = socket.read()
    if (chunk === null) return
    let bytes = pending === undefined ? chunk : Buffer.concat([pending, chunk])
    pending = undefined
    while (isContinue(bytes)) {
      const end = bytes.indexOf(END_OF_HEAD)
      if (end < 0 && bytes.length < LONGEST_HEAD) {
        pending = bytes
        return
      }
      if (end < 0) break
      bytes = bytes.subarray(end + END_OF_HEAD.length)
    }
    writtenBefore = bytesWritten
    socket.unshift(bytes)
  })
}

/** Whether the bytes begin with `100 Continue`; also true while they are too few to decide. */
function isContinue(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, CONTINUE.length)
  return CONTINUE.compare(bytes, 0, length, 0, length) === 0
}
