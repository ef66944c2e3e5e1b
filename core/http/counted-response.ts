import {
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { closeAfterBody, owesBody } from './early-response.js'

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[]
type Callback = (error?: Error | null) => void

/** A response that counts the bytes of its body: headers and chunk sizes are not among them. */
export class CountedResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends ServerResponse<Request> {
  private written = 0
  private upgraded: { readonly socket: Socket; readonly before: number } | undefined

  get bodyBytes(): number {
    const { upgraded, req, statusCode } = this
    if (upgraded !== undefined) return upgraded.socket.bytesWritten - upgraded.before
    return req.method === 'HEAD' || statusCode === 204 || statusCode === 304 ? 0 : this.written
  }

  /** From now on the bytes are those that are sent over the socket of an upgrade. */
  countSocket(socket: Socket): void {
    this.upgraded = { socket, before: socket.bytesWritten }
  }

  override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    if (status >= 200 && owesBody(this.req)) closeAfterBody(this, status)
    return super.writeHead(status, reason as string, headers)
  }

  override write(chunk: unknown, encoding?: BufferEncoding | Callback, callback?: Callback): boolean {
    this.written += lengthOf(chunk, encoding)
    return super.write(chunk, encoding as BufferEncoding, callback)
  }

  override end(chunk?: unknown, encoding?: BufferEncoding | (() => void), callback?: () => void): this {
    this.written += lengthOf(chunk, encoding)
    return super.end(chunk, encoding as BufferEncoding, callback)
  }
}

function lengthOf(chunk: unknown, encoding: unknown): number {
  if (typeof chunk === 'string')
    return Buffer.byteLength(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
  return chunk instanceof Uint8Array ? chunk.byteLength : 0
}
