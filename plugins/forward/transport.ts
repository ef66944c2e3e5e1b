import type { LookupFunction } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyReply } from 'fastify'
import {
  type FlatHeaders,
  firstValue,
  type ProxyTunnels,
  type ResponseHead,
  type ResponseSource,
} from 'sallyport/toolkit'
import type { Body } from './body.js'
import type { TargetTls } from './target-tls.js'

/** A request to the target. */
export interface OutgoingRequest {
  readonly method: string
  readonly path: string
  readonly headers: FlatHeaders
  /** The whole body, none, or the caller's stream. A whole body is freed once it cannot be sent again. */
  body: Buffer | Body | undefined
  /** Milliseconds for the target to begin its response; 0 for no limit. */
  readonly timeout: number
  readonly upgrade: boolean
  readonly reply: FastifyReply
}

/** Larger bodies go as streams, since undici holds a body until its response ends. A connection buffers as much. */
export const LARGEST_HELD = 64 * 1024

export type { ResponseHead }

/** Whether a response ends with its head, whatever the head says about a body (RFC 9112, 6.3). */
export const endsWithHead = (method: string, status: number): boolean =>
  method === 'HEAD' || status === 204 || status === 304

/**
 * Whether a response announces a body that it must not have. The body may still arrive, and would be read as the next
 * response, so the connection must close.
 */
export const announcesBody = ({ status, headers }: ResponseHead): boolean =>
  (status === 204 || status === 304) &&
  (firstValue(headers, 'transfer-encoding') !== undefined ||
    Number(firstValue(headers, 'content-length') ?? 0) !== 0)

/** Gets the response from a transport: one head, then data, then the end; or an error at any point. */
export interface ResponseHandler {
  /** `false` pauses the body until `Call.resume`. */
  onHead(head: ResponseHead, call: Call): boolean
  /** `false` pauses the body until `Call.resume`. */
  onData(chunk: Buffer): boolean
  onEnd(trailers: readonly string[]): void
  onError(error: unknown): void
  /** The trailers of the request, once its body has ended. */
  requestTrailers(): FlatHeaders
  /** The target asks for the body (`100 Continue`). */
  onContinue(): void
  /** The target has changed protocols; the bytes `early` came with its head. */
  onUpgrade(head: ResponseHead, socket: Duplex, early: Buffer): void
}

/** A request that was sent, and its response. Once it is aborted the handler is not called any more. */
export type Call = ResponseSource

/** How connections to the target are opened. */
export interface ConnectionSettings {
  /** Milliseconds to open a connection. */
  readonly timeout: number
  readonly lookup?: LookupFunction
  /** The tunnels through an outgoing proxy, if there is one. */
  readonly tunnels?: ProxyTunnels
  /** The operator's own certificates; tunnels know them already. */
  readonly tls?: TargetTls
}

/** Sends requests to the target. */
export interface Transport {
  send(outgoing: OutgoingRequest, handler: ResponseHandler): Call
  close(): void
}

/** The path and body of a request to the target, and the transport for it. */
export interface RequestParts {
  readonly path: string
  readonly body: Buffer | Body | undefined
  /** The incoming body, which counts the bytes that are kept of it. */
  readonly source: Body | undefined
  readonly transport: Transport
}
