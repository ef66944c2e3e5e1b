import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Entry } from 'sallyport'
import { ownSources } from '#kit/own-sources.js'
import { publishing, versionsIn } from './publishing.js'

/** Publishes in another process until that is killed; what was answered. */
async function publishedUntilKilled(store: Entry, round: number): Promise<readonly string[]> {
  const child = spawn(
    process.execPath,
    [
      ...ownSources.node,
      ...[ownSources.script(join(import.meta.dirname, 'publisher.ts')), JSON.stringify(store), String(round)],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  await once(child.stdout, 'data')
  // At any moment of a write.
  await setTimeout(Math.random() * 60)
  child.kill('SIGKILL')
  await once(child, 'close')
  return output.split('\n').slice(0, -1)
}

/** Publishes and is killed in each round: afterwards all that was answered is there, once. */
export async function killLoop(t: TestContext, store: Entry, rounds: number): Promise<void> {
  const answered: string[] = []
  for (let round = 0; round < rounds; round++) {
    answered.push(...(await publishedUntilKilled(store, round)))
    const { publications, stop } = await publishing(t, store)
    const stored = await versionsIn(publications)
    const held = new Set(stored)
    assert.equal(held.size, stored.length, 'a version is there twice')
    assert.deepEqual(
      answered.filter((each) => !held.has(each)),
      [],
      `round ${round}`,
    )
    // One write of each writer may have been stored without an answer.
    assert.ok(stored.length <= answered.length + 4 * (round + 1), `${stored.length} of ${answered.length}`)
    for (const name of new Set(stored.map((each) => each.split('@')[0] ?? '')))
      assert.equal(
        (await publications.history(name, 1e6)).length,
        stored.filter((each) => each.startsWith(`${name}@`)).length,
      )
    await stop()
  }
  assert.ok(answered.length > rounds)
}
