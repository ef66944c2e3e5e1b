import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { Contestant } from '../contestant.js'
import { floor } from '../proxies/own.js'
import type { Task } from '../task.js'

/**
 * Checks that a contestant does its whole work: it has to refuse wrong tokens, and the target has to receive the
 * headers that the contestant adds.
 */
export async function check(contestant: Contestant, task: Task, token = ''): Promise<void> {
  if (contestant.name === floor.name) return
  const wrong = (what: string): Error => new Error(`${contestant.name}: ${what}`)

  if (task.incoming !== undefined) {
    for (const bad of ['nonsense', withAnotherSignature(token)]) {
      const { status } = await ask(contestant, task, bad)
      if (status !== 401) throw wrong(`a wrong token was answered with ${status}`)
    }
  }
  const { status, text } = await ask(contestant, task, token)
  if (status !== 200) throw wrong(`a right token was answered with ${status}`)
  const { bearer = task.exchange === true ? 'bench' : undefined, headers } = task
  const wanted = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  if (bearer !== undefined) wanted.push(`authorization: bearer ${bearer}`)
  for (const line of wanted) {
    if (!text.includes(`\r\n${line.toLowerCase()}`)) throw wrong(`the target did not receive ${line}`)
  }
}

async function ask(
  { port }: Contestant,
  { tls }: Task,
  token: string,
): Promise<{ status: number | undefined; text: string }> {
  const to = { host: '127.0.0.1', port, path: '/mcp?echo', method: 'POST', agent: false }
  const headers = { authorization: `Bearer ${token}`, 'content-length': 2 }
  const asking =
    tls === undefined
      ? request({ ...to, headers })
      : secureRequest({ ...to, headers, rejectUnauthorized: false })
  const answered: Promise<IncomingMessage[]> = once(asking, 'response')
  asking.end('{}')
  const [answer] = await answered
  let text = ''
  for await (const chunk of answer ?? []) text += String(chunk)
  return { status: answer?.statusCode, text: text.toLowerCase() }
}

/** The token with a wrong signature. */
function withAnotherSignature(token: string): string {
  const at = token.lastIndexOf('.') + 10
  return token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1)
}
