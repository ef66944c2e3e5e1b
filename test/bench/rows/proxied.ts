import { join } from 'node:path'
import { certificateIn } from '../certificate.js'
import { type Contestant, startAnnounced } from '../contestant.js'
import { type BenchContext, lastingToken, newTokenFiles } from '../context.js'
import { LOAD_CORE } from '../cores.js'
import { sallyport } from '../proxies/own.js'
import type { CallResult } from '../results.js'
import type { Incoming, Task } from '../task.js'
import type { CallRow } from './calls.js'
import { check } from './check.js'
import { measureCalls } from './measure-calls.js'
import { withProxies } from './with-proxies.js'

const targetScript = join(import.meta.dirname, '../servers/target.mjs')

/** Measures calls of one kind through every proxy that can carry them. */
export async function measureProxies(context: BenchContext, row: CallRow): Promise<CallResult[]> {
  const { incoming, newTokens = false, key, title } = row
  const target = await startTarget()
  const { task, token, order } = await taskAndOrder(context, row, target)
  return withProxies(context, task, target, async (contestants) => {
    for (const contestant of contestants) await check(contestant, task, token)
    const tokens = newTokens &&
      incoming !== undefined && { tokens: await newTokenFiles(context, incoming.algorithm) }
    return await measureCalls(
      context,
      contestants.map((contestant) => ({ contestant, order })),
      { row: key, title, subject: sallyport.name, ...tokens },
    )
  })
}

export const startTarget = (): Promise<Contestant> =>
  startAnnounced('target', [targetScript], { core: LOAD_CORE })

/** The task of a proxy for calls of one kind, and the order for these calls. */
export async function taskAndOrder(context: BenchContext, row: CallRow, { port }: Contestant) {
  const token = await tokenOf(row, context)
  const order = { ...(await orderOf(row, port)), ...(token !== undefined && { token }) }
  return { task: taskOf(row, port, context), token, order }
}

function taskOf({ incoming, out, tls }: CallRow, target: number, { issuers, home }: BenchContext): Task {
  const task = { target, ...out, ...(tls === true && { tls: certificateIn(home) }) }
  if (incoming === undefined) return task
  const asked: Incoming = { kind: incoming.kind, ...issuers[incoming.algorithm] }
  return { ...task, incoming: asked }
}

async function tokenOf({ incoming }: CallRow, { issuers }: BenchContext): Promise<string | undefined> {
  if (incoming === undefined) return undefined
  const { issuer } = issuers[incoming.algorithm]
  return incoming.kind === 'jwt' ? lastingToken(issuer) : issuer.opaque({ exp: inAnHour() })
}

const inAnHour = (): number => Math.floor(Date.now() / 1000) + 3600

async function orderOf({ size, tls = false }: CallRow, target: number) {
  const path = `/mcp?size=${size}`
  const [open, close] = ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"', '"}}']
  const body = open + 'x'.repeat(size - open.length - close.length) + close
  const answer = await fetch(`http://127.0.0.1:${target}${path}`, { method: 'POST', body })
  const lines = [
    `POST ${path} HTTP/1.1`,
    'content-type: application/json',
    'accept: application/json, text/event-stream',
    `content-length: ${body.length}`,
  ]
  const expected = Buffer.from(await answer.arrayBuffer()).toString('base64')
  return { head: lines.join('\r\n'), body, status: 200, answer: expected, tls }
}
