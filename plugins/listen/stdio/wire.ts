import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

export interface Asking {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
  readonly signal: AbortSignal
}

export interface Asked {
  /** The whole body was taken, or never will be. */
  readonly flushed: Promise<void>
  /** The head of the answer. */
  readonly answer: Promise<IncomingMessage>
}

const PIECE = 256 * 1024

/** Sends requests into the list that the plugin stands in: they pass its gate and its credentials like any other. */
export class Wire {
  constructor(private readonly connect: () => Duplex) {}

  send({ method, path, headers, body, signal }: Asking): Asked {
    const asked = request({
      // Node asks for a net.Socket, and uses of it what every Duplex has.
      createConnection: () => this.connect() as Socket,
      method,
      path,
      headers: { host: 'stdio', ...headers, ...(body !== undefined && { 'content-length': body.length }) },
      signal,
    })
    const answer = new Promise<IncomingMessage>((resolve, reject) => {
      asked.on('response', resolve)
      asked.on('error', reject)
    })
    // Whoever only waits for the body to be taken leaves the failure to others.
    answer.catch(() => {})
    const flushed = new Promise<void>((resolve) => {
      asked.on('finish', () => resolve())
      asked.on('close', () => resolve())
    })
    if (body === undefined) asked.end()
    else inPieces(asked, body)
    return { flushed, answer }
  }
}

/** What stands between copies a piece, and would copy the whole. */
function inPieces(asked: ClientRequest, body: Buffer): void {
  let at = 0
  const go = (): void => {
    while (at + PIECE < body.length) {
      at += PIECE
      if (!asked.write(body.subarray(at - PIECE, at))) {
        asked.once('drain', go)
        return
      }
    }
    asked.end(body.subarray(at))
  }
  go()
}

export const isEvents = ({ headers }: IncomingMessage): boolean =>
  mediaType(headers['content-type']) === 'text/event-stream'

export const isJson = ({ headers }: IncomingMessage): boolean =>
  mediaType(headers['content-type']) === 'application/json'

const mediaType = (header: string | undefined): string =>
  (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''

/** The whole body; undefined when it is longer than `most` bytes. */
export async function bodyOf(answer: IncomingMessage, most: number): Promise<Buffer | undefined> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of answer) {
    size += part.length
    if (size > most) {
      answer.destroy()
      return undefined
    }
    parts.push(part)
  }
  return Buffer.concat(parts)
}
