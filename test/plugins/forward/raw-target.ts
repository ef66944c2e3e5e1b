import { createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { opened } from '#kit/listening.js'
import { dial } from '#kit/raw.js'
import { type Message, messageIn } from './message.js'

export interface RawTarget {
  readonly origin: string
  /** Every request, as it was on the wire. */
  readonly seen: Message[]
}

/** A target that records raw requests, and responds with the bytes of `answer`. */
export async function rawTarget(
  t: TestContext,
  answer: (message: Message, socket: Socket) => string | undefined,
): Promise<RawTarget> {
  const seen: Message[] = []
  const server = createServer((socket) => {
    let bytes = ''
    socket.on('data', (chunk) => {
      bytes += chunk.toString('latin1')
      for (let found = messageIn(bytes); found !== undefined; found = messageIn(bytes)) {
        bytes = bytes.slice(found.length)
        seen.push(found.message)
        const text = answer(found.message, socket)
        if (text === undefined) continue
        socket.write(Buffer.from(text, 'latin1'))
        // A response without a length ends with its connection.
        if (
          !/\r\n(?:content-length|transfer-encoding):/i.test(text) &&
          !/^HTTP\/1.1 (?:1|204|304)/.test(text)
        ) {
          socket.end()
        }
      }
    })
  })
  const { port } = await opened(t, server)
  return { origin: `http://127.0.0.1:${port}`, seen }
}

/** Sends a request as bytes; returns the final response as it was on the wire. */
export async function answerTo(origin: string, bytes: string): Promise<Message> {
  const socket = dial(origin)
  const bodyless = bytes.startsWith('HEAD ')
  try {
    return await new Promise<Message>((resolve, reject) => {
      let heard = ''
      const look = (ended: boolean): void => {
        for (let found = messageIn(heard, { bodyless, ended }); found !== undefined; ) {
          if (!found.message.line.startsWith('HTTP/1.1 1')) {
            resolve(found.message)
            return
          }
          heard = heard.slice(found.length)
          found = messageIn(heard, { bodyless, ended })
        }
        if (ended) reject(new Error(`no whole answer: ${heard}`))
      }
      socket.on('error', reject)
      socket.on('data', (chunk) => {
        heard += chunk.toString('latin1')
        look(false)
      })
      socket.on('close', () => look(true))
      socket.write(Buffer.from(bytes, 'latin1'))
    })
  } finally {
    socket.destroy()
  }
}
