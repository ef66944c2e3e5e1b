import {
  Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
} from 'node:http'
import { request as httpsRequest, Agent as TlsAgent } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type ProxyTunnels, pairs } from 'sallyport/toolkit'
import type { Body } from './body.js'
import { responseTimeout } from './failures.js'
import type { Target } from './target.js'
import {
  announcesBody,
  type Call,
  type ConnectionSettings,
  endsWithHead,
  LARGEST_HELD,
  type OutgoingRequest,
  type ResponseHandler,
  type Transport,
} from './transport.js'

const CALLER = Symbol('caller')

interface StreamingRequestOptions extends RequestOptions {
  [CALLER]: ServerResponse | undefined
}

/**
 * The transport for all of HTTP/1.1: bodies of any size, chunks, trailers, `Expect`, upgrades. Node's own client sends
 * headers and paths byte for byte.
 */
export class StreamingTransport implements Transport {
  private agent: Agent
  /** Agents with old certificates. Their only connections are those in use. */
  private retired: Agent[] = []

  constructor(
    private readonly target: Target,
    private readonly connecting: ConnectionSettings,
  ) {
    this.agent = this.newAgent()
    connecting.tls?.onChange(() => this.renew())
  }

  send(outgoing: OutgoingRequest, handler: ResponseHandler): Call {
    const { method, path, headers, upgrade, reply } = outgoing
    const options: StreamingRequestOptions = {
      method,
      path,
      // A flat list keeps order, case and repeats.
      headers: upgrade ? [...headers, 'Connection', 'Upgrade', 'Upgrade', 'websocket'] : headers,
      agent: this.agent,
      setHost: false,
      [CALLER]: reply.raw,
    }
    const { origin, secure } = this.target
    const request = (secure ? httpsRequest : httpRequest)(origin, options)
    const { tunnels, timeout } = this.connecting
    // A tunnel has a time limit of its own.
    if (tunnels === undefined) limitConnecting(request, timeout, secure ? 'secureConnect' : 'connect')
    return new StreamingCall(outgoing, request, handler)
  }

  close(): void {
    for (const agent of [this.agent, ...this.retired]) agent.destroy()
  }

  private newAgent(): Agent {
    const { target, connecting } = this
    const { lookup, tunnels, tls } = connecting
    const options = {
      keepAlive: true,
      ...(lookup !== undefined && { lookup }),
      ...(tls !== undefined && { secureContext: tls.secureContext }),
    }
    const agent = target.secure ? new TlsAgent(options) : new Agent(options)
    if (tunnels !== undefined) agent.createConnection = tunnelled(tunnels, new URL(target.origin))
    return agent
  }

  /** Certificates have changed: no further request goes over an open connection. */
  private renew(): void {
    const { agent } = this
    this.agent = this.newAgent()
    agent.maxFreeSockets = 0
    for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy()
    this.retired = [...this.retired, agent].filter(({ sockets }) => Object.keys(sockets).length > 0)
  }
}

function tunnelled(tunnels: ProxyTunnels, to: URL): Agent['createConnection'] {
  return (options: StreamingRequestOptions, created) => {
    const { [CALLER]: caller } = options
    // The agent keeps the options while the connection lives, and they would keep the caller.
    options[CALLER] = undefined
    const cancel = tunnels.open(to, (error, socket) => {
      caller?.off('close', cancel)
      // The types require a socket also with an error.
      created?.(error, socket as Socket)
    })
    // Aborting a request that has no socket yet does not stop the opening of its connection.
    caller?.once('close', cancel)
    return undefined
  }
}

function limitConnecting(
  request: ClientRequest,
  milliseconds: number,
  connected: 'connect' | 'secureConnect',
): void {
  request.on('socket', (socket) => {
    if (!socket.connecting) return
    const timer = setTimeout(() => request.destroy(connectTimedOut()), milliseconds)
    socket.once(connected, () => clearTimeout(timer)).once('close', () => clearTimeout(timer))
  })
}

class StreamingCall implements Call {
  private response: IncomingMessage | undefined
  private timer: NodeJS.Timeout | undefined
  /** Whether the response ends with its head: an error after that does not change it. */
  private headOnly = false
  private ended = false

  constructor(
    private readonly outgoing: OutgoingRequest,
    private readonly request: ClientRequest,
    private readonly handler: ResponseHandler,
  ) {
    request
      .on('response', (response) => this.onResponse(response))
      .on('upgrade', (response, socket, early) => this.onUpgrade(response, socket, early))
      .on('continue', () => handler.onContinue())
      .on('error', (error) => this.fail(error))
      .on('finish', () => this.startTimer())
    this.sendBody()
  }

  private sendBody(): void {
    const { request } = this
    const { body } = this.outgoing
    const end = (last?: Buffer): void => {
      const trailers = this.handler.requestTrailers()
      if (trailers.length > 0) request.addTrailers(pairs(trailers))
      request.end(last)
    }
    if (body === undefined || (Buffer.isBuffer(body) && body.length <= LARGEST_HELD)) {
      end(body)
      return
    }
    const wait = (): void => this.startTimer()
    request.on('drain', () => clearTimeout(this.timer))
    writeBody(request, body, wait, () => {
      end()
      wait()
    })
  }

  // The timeout counts from the last bytes that the target read, so a long upload does not count as a slow target.
  private startTimer(): void {
    const { timeout } = this.outgoing
    clearTimeout(this.timer)
    if (timeout === 0 || this.ended || this.response !== undefined) return
    this.timer = setTimeout(() => {
      this.fail(responseTimeout())
      this.request.destroy()
    }, timeout)
  }

  private onResponse(response: IncomingMessage): void {
    clearTimeout(this.timer)
    if (this.ended) return
    this.response = response
    this.headOnly = endsWithHead(this.outgoing.method, response.statusCode ?? 0)
    response.on('error', (error) => this.fail(error))
    response.on('end', () => this.end(response))
    if (this.handler.onHead(headOf(response), this)) this.resume()
  }

  private onUpgrade(response: IncomingMessage, socket: Duplex, early: Buffer): void {
    if (!this.outgoing.upgrade) {
      socket.destroy()
      this.fail(unexpectedUpgrade())
      return
    }
    clearTimeout(this.timer)
    this.ended = true
    this.handler.onUpgrade(headOf(response), socket, early)
  }

  fail(error: unknown): void {
    if (this.ended || this.headOnly) return
    this.ended = true
    clearTimeout(this.timer)
    this.handler.onError(error)
  }

  resume(): void {
    const { response, handler } = this
    if (response === undefined || this.ended) return
    if (this.headOnly) {
      this.end(response)
      return
    }
    // Added only now: with a listener, the stream of an empty body emits `end` even while it is paused.
    if (response.listenerCount('data') === 0) {
      response.on('data', (chunk: Buffer) => {
        if (!this.ended && !handler.onData(chunk)) response.pause()
      })
    }
    response.resume()
  }

  abort(): void {
    this.ended = true
    clearTimeout(this.timer)
    this.request.destroy()
  }

  private end(response: IncomingMessage): void {
    if (this.ended) return
    this.ended = true
    // After a response that came before the end of the request body, nothing else would end the request.
    const isSent = this.request.writableFinished !== false
    // Some servers send the body that a HEAD announces.
    const mayHaveBody = this.outgoing.method === 'HEAD' || announcesBody(headOf(response))
    if (isSent && !mayHaveBody) response.resume()
    else this.request.destroy()
    this.handler.onEnd(response.rawTrailers)
  }
}

const headOf = ({ statusCode = 0, statusMessage = '', rawHeaders }: IncomingMessage) => ({
  status: statusCode,
  reason: statusMessage,
  headers: rawHeaders,
})

const unexpectedUpgrade = (): Error =>
  Object.assign(new Error('the target changed protocols without an Upgrade'), { code: 'HPE_UPGRADE' })

const connectTimedOut = (): Error =>
  Object.assign(new Error('no connection'), { code: 'UND_ERR_CONNECT_TIMEOUT' })

/**
 * Writes a body as fast as the target reads. Calls `onWait` whenever the target is too slow, until the next `drain`.
 */
function writeBody(request: ClientRequest, body: Buffer | Body, onWait: () => void, onEnd: () => void): void {
  const write = (chunk: Buffer): boolean => {
    const flows = request.write(chunk)
    if (!flows) onWait()
    return flows
  }
  if (Buffer.isBuffer(body)) writeParts(request, body, write, onEnd)
  else {
    request.on('drain', () => body.resume())
    body.streamTo(write, onEnd)
  }
}

/** Writes in parts: during one large write nothing would show whether the target still reads. */
function writeParts(
  request: ClientRequest,
  body: Buffer,
  write: (part: Buffer) => boolean,
  onEnd: () => void,
): void {
  const rest = body.subarray(LARGEST_HELD)
  const next = (): void => (rest.length === 0 ? onEnd() : writeParts(request, rest, write, onEnd))
  if (write(body.subarray(0, LARGEST_HELD))) next()
  else request.once('drain', next)
}
