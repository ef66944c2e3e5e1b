import { readFile } from 'node:fs/promises'
import { Caller } from './caller.js'
import type { Order, Outcome } from './order.js'

// The process that makes the load: it is told over IPC what to send, and tells what came of it. It looks at every byte
// of every answer, which wrk does only through Lua, and keeps a rate, which wrk does not.
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
  const callers = Array.from(
    { length: order.connections },
    () => new Caller(order.port, expected, order.tls === true),
  )
  const times: number[] = []
  const began = now()
  try {
    await new Promise<void>((resolve, reject) => {
      const answered = (error: Error | undefined, asked: number): void => {
        if (error === undefined) times.push(now() - asked)
        else reject(error)
      }
      if (order.rate === undefined) flood(order, callers, next, answered, resolve)
      else pace(order, order.rate, callers, next, answered, resolve)
    })
  } finally {
    for (const caller of callers) caller.close()
  }
  const seconds = (now() - began) / 1000
  const sorted = Float64Array.from(times).sort()
  const at = (part: number): number => sorted[Math.floor(sorted.length * part)] ?? 0
  return { requests: times.length, seconds, p50: at(0.5), p99: at(0.99) }
}

type Answered = (error: Error | undefined, asked: number) => void
type Next = () => Buffer | undefined

/** Each connection sends its next request when it has its answer. */
function flood(
  { seconds = Number.POSITIVE_INFINITY, calls = Number.POSITIVE_INFINITY }: Order,
  callers: readonly Caller[],
  next: Next,
  answered: Answered,
  over: () => void,
): void {
  const end = now() + seconds * 1000
  let left = calls
  let busy = callers.length
  const again = (caller: Caller): void => {
    const request = now() < end && left-- > 0 ? next() : undefined
    if (request === undefined) {
      if (--busy === 0) over()
      return
    }
    caller.send(request, now(), (error, asked) => {
      answered(error, asked)
      if (error === undefined) again(caller)
    })
  }
  for (const caller of callers) again(caller)
}

/** Seconds in which connections are made and whoever slept wakes up; what falls due in them does not count. */
const SETTLING = 0.5

/**
 * Requests fall due at their times, whether or not earlier ones were answered. One that finds no connection free is
 * measured from when it fell due: who waits for an answer before asking again would not see what a pause does to others.
 */
function pace(
  { seconds = 0 }: Order,
  rate: number,
  callers: readonly Caller[],
  next: Next,
  answered: Answered,
  over: () => void,
): void {
  const began = now()
  const settled = began + SETTLING * 1000
  const total = Math.floor(rate * (SETTLING + seconds))
  const idle = [...callers]
  const waiting: number[] = []
  let [due, done] = [0, 0]
  const send = (): void => {
    const now_due = Math.min(total, Math.floor(((now() - began) / 1000) * rate))
    for (; due < now_due; due++) waiting.push(now())
    while (waiting.length > 0 && idle.length > 0) {
      const [caller, request] = [idle.pop(), next()]
      if (caller === undefined || request === undefined) return
      caller.send(request, waiting.shift() ?? now(), (error, asked) => {
        if (error !== undefined || asked >= settled) answered(error, asked)
        idle.push(caller)
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

/** The bytes of one request after the other: the same ones for ever, or one for each token of a file. */
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
