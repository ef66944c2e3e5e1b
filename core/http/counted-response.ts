import {
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { closeAfterBody, isBodyPending } from './body.js'

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[]
type Callback = (error?: Error | null) => void

const PART_BYTES = 64 * 1024
const NOTHING = Buffer.alloc(0)

/**
 * A response that counts the bytes of its body, without headers and chunk sizes. It writes a large body to the socket
 * in parts, as the client reads them: `UnreadResponses` could not see the progress of a body that was written as a
 * whole.
 */
export class CountedResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends ServerResponse<Request> {
  /** Called with each write. */
  onWrite: (() => void) | undefined
  /** Called instead of writing a head that was not released. */
  onHead: (() => void) | undefined
  private written = 0
  private upgraded: { readonly socket: Socket; readonly before: number } | undefined
  private rest: Buffer<ArrayBufferLike> = NOTHING
  private isEnding = false

  get bodyBytes(): number {
    const { upgraded, req, statusCode } = this
    if (upgraded !== undefined) return upgraded.socket.bytesWritten - upgraded.before
    return req.method === 'HEAD' || statusCode === 204 || statusCode === 304 ? 0 : this.written
  }

  /** How much of the body is not in the socket yet. */
  get unsent(): number {
    return this.rest.length
  }

  /** From now on counts the bytes that are sent over the socket of an upgrade. */
  countSocket(socket: Socket): void {
    this.upgraded = { socket, before: socket.bytesWritten }
  }

  override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    if (status >= 200 && this.isHeadRefused()) return this
    if (status >= 200 && isBodyPending(this.req)) closeAfterBody(this, status)
    return super.writeHead(status, reason as string, headers)
  }

  override write(chunk: unknown, encoding?: BufferEncoding | Callback, callback?: Callback): boolean {
    // After `end` was called, nothing may come between two parts.
    if (this.isEnding || this.isHeadRefused()) return false
    this.onWrite?.()
    this.written += lengthOf(chunk, encoding)
    return super.write(chunk, encoding as BufferEncoding, callback)
  }

  override end(chunk?: unknown, encoding?: BufferEncoding | (() => void), callback?: () => void): this {
    if (this.isEnding || this.isHeadRefused()) return this
    this.onWrite?.()
    const length = lengthOf(chunk, encoding)
    this.written += length
    // While the head is not written, Node computes `Content-Length` from the chunk that `end` gets.
    if (length <= PART_BYTES || !this.headersSent || this.req.method === 'HEAD')
      return super.end(chunk, encoding as BufferEncoding, callback)
    this.rest = bytesOf(chunk as string | Uint8Array, encoding)
    this.isEnding = true
    this.endInParts(typeof encoding === 'function' ? encoding : callback)
    return this
  }

  /** Sends this response instead of the one that was begun, and drops everything that is written later. */
  replaceBy(status: number, headers: OutgoingHttpHeaders, body: string): void {
    for (const name of this.getHeaderNames()) this.removeHeader(name)
    this.writeHead(status, headers)
    super.end(body)
    this.isEnding = true
  }

  override flushHeaders(): void {
    if (!this.isHeadRefused()) super.flushHeaders()
  }

  private isHeadRefused(): boolean {
    const { onHead } = this
    if (onHead === undefined || this.headersSent) return false
    this.onHead = undefined
    onHead()
    return true
  }

  private endInParts(callback: (() => void) | undefined): void {
    const goOn = (): void => {
      while (this.rest.length > PART_BYTES) {
        const part = this.rest.subarray(0, PART_BYTES)
        this.rest = this.rest.subarray(PART_BYTES)
        if (!super.write(part)) return
      }
      this.off('drain', goOn)
      const last = this.rest
      this.rest = NOTHING
      super.end(last, callback)
    }
    this.on('drain', goOn)
    this.once('close', () => {
      this.rest = NOTHING
    })
    goOn()
  }
}

/**
 * Calls `refuse` instead of writing the head, unless `releaseHead` was called. Responses to dispatched requests are
 * exempt: they go to a plugin, and not to a client.
 */
export function holdHead(response: ServerResponse, refuse: (response: CountedResponse) => void): void {
  if (response instanceof CountedResponse) response.onHead = () => refuse(response)
}

export function releaseHead(response: ServerResponse): void {
  // Not by `instanceof`: a plugin may bring its own copy of this package.
  if ('onHead' in response) response.onHead = undefined
}

const bytesOf = (chunk: string | Uint8Array, encoding: unknown): Buffer<ArrayBufferLike> =>
  typeof chunk === 'string'
    ? Buffer.from(chunk, encodingOf(encoding))
    : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)

const encodingOf = (encoding: unknown): BufferEncoding =>
  typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8'

function lengthOf(chunk: unknown, encoding: unknown): number {
  if (typeof chunk === 'string') return Buffer.byteLength(chunk, encodingOf(encoding))
  return chunk instanceof Uint8Array ? chunk.byteLength : 0
}
