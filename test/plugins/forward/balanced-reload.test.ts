import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'

/** A server that begins a session with each request that has none. */
const replica = (t: TestContext, name: string): Promise<string> =>
  listening(t, ({ headers }, response) => {
    response.setHeader('mcp-session-id', headers['mcp-session-id'] ?? randomUUID()).end(name)
  })

const list = (targets: readonly string[]) => [
  listen,
  { use: 'auth/anonymous' },
  { use: 'forward/balanced', with: { targets } },
]

test('sessions stay with their replicas over a reload, also one that adds a replica', async (t) => {
  const targets = [await replica(t, 'a'), await replica(t, 'b')]
  const running = await serving(t, list(targets))
  const ask = async (headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(running.addresses.main ?? '', { method: 'POST', headers })
    return { by: await response.text(), session: response.headers.get('mcp-session-id') ?? '' }
  }
  const sessions: { readonly by: string; readonly session: string }[] = []
  for (let begun = 0; begun < 30; begun++) sessions.push(await ask())
  const moved = async (): Promise<number> => {
    let count = 0
    for (const { by, session } of sessions) {
      if ((await ask({ 'mcp-session-id': session })).by !== by) count++
    }
    return count
  }

  assert.equal(await moved(), 0)
  await running.swap(list(targets))
  assert.equal(await moved(), 0)
  await running.swap(list([...targets, await replica(t, 'c')]))
  assert.equal(await moved(), 0)
})
