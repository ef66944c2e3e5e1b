import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

export interface LinkRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
  readonly signal: AbortSignal
}

export interface LinkResponse {
  /** Resolves when the whole body was sent, or will never be. */
  readonly flushed: Promise<void>
  /** Resolves with the head of the response. */
  readonly response: Promise<IncomingMessage>
}

const CHUNK = 256 * 1024
const MAX_REDIRECTS = 5

/** Sends requests to the plugin's own gateway, where they pass guards and credentials like any other request. */
export class HttpLink {
  /** The new path of each path that a redirect has moved. */
  private readonly moved = new Map<string, string>()

  constructor(
    private readonly connect: () => Duplex,
    private readonly target: URL,
  ) {}

  send(linkRequest: LinkRequest): LinkResponse {
    const path = this.moved.get(linkRequest.path) ?? linkRequest.path
    const { flushed, response } = this.sendTo(path, linkRequest)
    const followed = this.follow(response, linkRequest, path)
    // Awaiting only `flushed` must not leave a rejection unhandled.
    followed.catch(() => {})
    return { flushed, response: followed }
  }

  /** Follows redirects to the target's path with a slash, as some frameworks send them, or to a path below it. */
  private async follow(
    response: Promise<IncomingMessage>,
    linkRequest: LinkRequest,
    path: string,
    redirects = 0,
  ): Promise<IncomingMessage> {
    const head = await response
    const to = redirects < MAX_REDIRECTS ? this.redirectIn(head, path) : undefined
    if (to === undefined) return head
    head.resume()
    this.moved.set(linkRequest.path, to)
    return this.follow(this.sendTo(to, linkRequest).response, linkRequest, to, redirects + 1)
  }

  private redirectIn({ statusCode, headers }: IncomingMessage, from: string): string | undefined {
    const { origin, pathname: base } = this.target
    if ((statusCode !== 307 && statusCode !== 308) || headers.location === undefined) return undefined
    if (!URL.canParse(headers.location, origin + from)) return undefined
    const to = new URL(headers.location, origin + from)
    const isOwn = to.origin === origin && `${to.pathname}/`.startsWith(base.endsWith('/') ? base : `${base}/`)
    return isOwn ? to.pathname + to.search : undefined
  }

  private sendTo(path: string, { method, headers, body, signal }: LinkRequest): LinkResponse {
    const clientRequest = request({
      // The types require a net.Socket; Node uses only what every Duplex has.
      createConnection: () => this.connect() as Socket,
      method,
      path,
      headers: { host: 'stdio', ...headers, ...(body !== undefined && { 'content-length': body.length }) },
      signal,
    })
    const response = new Promise<IncomingMessage>((resolve, reject) => {
      clientRequest.on('response', resolve)
      clientRequest.on('error', reject)
    })
    const flushed = new Promise<void>((resolve) => {
      clientRequest.on('finish', () => resolve())
      clientRequest.on('close', () => resolve())
    })
    if (body === undefined) clientRequest.end()
    else writeInChunks(clientRequest, body)
    return { flushed, response }
  }
}

/** Writes the body in chunks, since the connection copies each write. */
function writeInChunks(clientRequest: ClientRequest, body: Buffer): void {
  let offset = 0
  const writeNext = (): void => {
    while (offset + CHUNK < body.length) {
      offset += CHUNK
      if (!clientRequest.write(body.subarray(offset - CHUNK, offset))) {
        clientRequest.once('drain', writeNext)
        return
      }
    }
    clientRequest.end(body.subarray(offset))
  }
  writeNext()
}

export const isEvents = ({ headers }: IncomingMessage): boolean =>
  mediaType(headers['content-type']) === 'text/event-stream'

export const isJson = ({ headers }: IncomingMessage): boolean =>
  mediaType(headers['content-type']) === 'application/json'

const mediaType = (header: string | undefined): string =>
  (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''

/** The whole body; undefined when it is longer than `maxBytes`. */
export async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of response) {
    size += part.length
    if (size > maxBytes) {
      response.destroy()
      return undefined
    }
    parts.push(part)
  }
  return Buffer.concat(parts)
}
