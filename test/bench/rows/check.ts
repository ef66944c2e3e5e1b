import { floor } from '../anchors/own.js'
import type { Contestant } from '../contestant.js'
import type { Task } from '../task.js'

/**
 * Nobody is fast by leaving work out: a contestant has to refuse what it should refuse, and the target has to see what
 * should have been added.
 */
export async function check(contestant: Contestant, task: Task, token = ''): Promise<void> {
  if (contestant.name === floor.name) return
  const wrong = (what: string): Error => new Error(`${contestant.name}: ${what}`)

  if (task.incoming !== undefined) {
    for (const bad of ['nonsense', withAnotherSignature(token)]) {
      const { status } = await ask(contestant, bad)
      if (status !== 401) throw wrong(`a token that is not right was answered with ${status}`)
    }
  }
  const { status, text } = await ask(contestant, token)
  if (status !== 200) throw wrong(`a right token was answered with ${status}`)
  const { bearer = task.exchange === true ? 'bench' : undefined, headers } = task
  const wanted = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  if (bearer !== undefined) wanted.push(`authorization: bearer ${bearer}`)
  for (const line of wanted) {
    if (!text.includes(`\r\n${line.toLowerCase()}`)) throw wrong(`the target did not see ${line}`)
  }
}

async function ask({ port }: Contestant, token: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`http://127.0.0.1:${port}/mcp?echo`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: '{}',
  })
  return { status: answer.status, text: (await answer.text()).toLowerCase() }
}

/** The same claims, signed by nobody. */
function withAnotherSignature(token: string): string {
  const at = token.lastIndexOf('.') + 10
  return token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1)
}
