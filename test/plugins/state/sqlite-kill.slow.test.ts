import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { another, storing } from './storing.js'

const ROUNDS = 25

test('after kill -9 at any moment of a save, the value is a whole one that was saved last, and its lock is free', async (t) => {
  const directory = folder(t)
  const entry = { use: 'state/sqlite', with: { directory } }
  let newest = 0
  for (let round = 0; round < ROUNDS; round++) {
    const { process: child, output, closed } = another(t, entry, 'saves', String(newest))
    await eventually(() => output.stdout !== '', 60)
    await setTimeout(Math.random() * 60)
    child.kill('SIGKILL')
    await closed
    const answered = Number(output.stdout.trim().split('\n').at(-1))

    const { store, lines } = await storing(t, [entry])
    const since = performance.now()
    const value = await store.locked('key', () => store.get('value'))
    assert.ok(performance.now() - since < 2000, `round ${round}`)
    newest = Number(/^x*(\d+)$/.exec(value ?? '')?.[1])
    // One save may have been stored without an answer.
    assert.ok(newest === answered || newest === answered + 1, `${newest} after ${answered}`)
    assert.deepEqual(
      lines.filter(({ level }) => level === 'warn'),
      [],
    )
  }
  assert.deepEqual(readdirSync(join(directory, 'locks')), [])
})
