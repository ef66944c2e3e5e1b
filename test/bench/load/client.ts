import { readFile } from 'node:fs/promises'
import { Connection } from './connection.js'
import type { Order, Outcome } from './order.js'

// The process that makes the load: it gets its orders over IPC and returns the outcome. It compares every byte of every
// answer, which wrk does only through Lua, and keeps a rate, which wrk does not.
process.on('message', (order: Order) => {
  run(order).then(
    (outcome) => process.send?.({ outcome }),
    (error: Error) => process.send?.({ error: error.message }),
  )
})
process.on('disconnect', () => process.exit())
process.send?.('ready')

const now = (): number => performance.now()

async function run(order: Order): Promise<Outcome> {
  const next = await requestsOf(order)
  const expected = { status: order.status, body: Buffer.from(order.answer, 'base64') }
  const connections = Array.from(
    { length: order.connections },
    () => new Connection(order.port, expected, order.tls === true),
  )
  const times: number[] = []
  const began = now()
  try {
    await new Promise<void>((resolve, reject) => {
      const onAnswer = (error: Error | undefined, sentAt: number): void => {
        if (error === undefined) times.push(now() - sentAt)
        else reject(error)
      }
      if (order.rate === undefined) flood(order, connections, next, onAnswer, resolve)
      else pace(order, order.rate, connections, next, onAnswer, resolve)
    })
  } finally {
    for (const connection of connections) connection.close()
  }
  const seconds = (now() - began) / 1000
  const sorted = Float64Array.from(times).sort()
  const at = (part: number): number => sorted[Math.floor(sorted.length * part)] ?? 0
  return { requests: times.length, seconds, p50: at(0.5), p99: at(0.99) }
}

type OnAnswer = (error: Error | undefined, sentAt: number) => void
type Next = () => Buffer | undefined

/** Each connection sends its next request when it has the answer to the one before. */
function flood(
  { seconds = Number.POSITIVE_INFINITY, calls = Number.POSITIVE_INFINITY }: Order,
  connections: readonly Connection[],
  next: Next,
  onAnswer: OnAnswer,
  over: () => void,
): void {
  const end = now() + seconds * 1000
  let left = calls
  let busy = connections.length
  const again = (connection: Connection): void => {
    const request = now() < end && left-- > 0 ? next() : undefined
    if (request === undefined) {
      if (--busy === 0) over()
      return
    }
    connection.send(request, now(), (error, sentAt) => {
      onAnswer(error, sentAt)
      if (error === undefined) again(connection)
    })
  }
  for (const connection of connections) again(connection)
}

/** Seconds for opening connections and waking up processes; requests in this time do not count. */
const SETTLING = 0.5

/**
 * Requests fall due at their times, whether or not earlier ones were answered. A request that finds no free connection
 * is measured from its due time: a client that waits for each answer does not see how a pause delays the requests
 * behind it.
 */
function pace(
  { seconds = 0 }: Order,
  rate: number,
  connections: readonly Connection[],
  next: Next,
  onAnswer: OnAnswer,
  over: () => void,
): void {
  const began = now()
  const settled = began + SETTLING * 1000
  const total = Math.floor(rate * (SETTLING + seconds))
  const idle = [...connections]
  const waiting: number[] = []
  let [due, done] = [0, 0]
  const send = (): void => {
    const now_due = Math.min(total, Math.floor(((now() - began) / 1000) * rate))
    for (; due < now_due; due++) waiting.push(now())
    while (waiting.length > 0 && idle.length > 0) {
      const [connection, request] = [idle.pop(), next()]
      if (connection === undefined || request === undefined) return
      connection.send(request, waiting.shift() ?? now(), (error, sentAt) => {
        if (error !== undefined || sentAt >= settled) onAnswer(error, sentAt)
        idle.push(connection)
        if (error === undefined && ++done < total) {
          if (waiting.length > 0) send()
          return
        }
        clearInterval(timer)
        over()
      })
    }
  }
  const timer = setInterval(send, 1)
}

/** Returns the bytes of each next request: always the same ones, or one request for each token of a file. */
async function requestsOf({ port, head, body, token, tokens }: Order): Promise<Next> {
  const written = (bearer?: string): Buffer => {
    const authorization = bearer === undefined ? '' : `authorization: Bearer ${bearer}\r\n`
    return Buffer.from(`${head}\r\nhost: 127.0.0.1:${port}\r\n${authorization}\r\n${body}`)
  }
  if (tokens === undefined) {
    const request = written(token)
    return () => request
  }
  const requests = (await readFile(tokens, 'utf8')).split('\n').map(written)
  let at = 0
  return () => requests[at++]
}
