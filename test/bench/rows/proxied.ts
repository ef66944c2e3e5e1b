import { join } from 'node:path'
import { sallyport } from '../anchors/own.js'
import { certificateIn } from '../certificate.js'
import { announced, type Contestant } from '../contestant.js'
import { LOADING } from '../cores.js'
import type { CallResult } from '../results.js'
import type { Incoming, Task } from '../task.js'
import { lastingToken, newTokenFiles, type World } from '../world.js'
import type { CallRow } from './calls.js'
import { check } from './check.js'
import { measureCalls } from './measure-calls.js'
import { standing } from './standing.js'

const targetScript = join(import.meta.dirname, '../servers/target.mjs')

/** Measures calls of a kind through everyone who can carry them. */
export async function measureProxies(world: World, row: CallRow): Promise<CallResult[]> {
  const { incoming, newTokens = false, key, title } = row
  const target = await startTarget()
  const { task, token, order } = await askedOf(world, row, target)
  return standing(world, task, target, async (contestants) => {
    for (const contestant of contestants) await check(contestant, task, token)
    const tokens = newTokens &&
      incoming !== undefined && { tokens: await newTokenFiles(world, incoming.algorithm) }
    return await measureCalls(
      world,
      contestants.map((contestant) => ({ contestant, order })),
      { row: key, title, subject: sallyport.name, ...tokens },
    )
  })
}

export const startTarget = (): Promise<Contestant> => announced('target', [targetScript], { core: LOADING })

/** What a proxy before this target has to do for calls of a kind, and how those look. */
export async function askedOf(world: World, row: CallRow, { port }: Contestant) {
  const token = await tokenOf(row, world)
  const order = { ...(await orderOf(row, port)), ...(token !== undefined && { token }) }
  return { task: taskOf(row, port, world), token, order }
}

function taskOf({ incoming, out, tls }: CallRow, target: number, { issuers, home }: World): Task {
  const task = { target, ...out, ...(tls === true && { tls: certificateIn(home) }) }
  if (incoming === undefined) return task
  const asked: Incoming = { kind: incoming.kind, ...issuers[incoming.algorithm] }
  return { ...task, incoming: asked }
}

async function tokenOf({ incoming }: CallRow, { issuers }: World): Promise<string | undefined> {
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
