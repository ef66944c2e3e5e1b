import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OneAtATime } from '#plugins/registry/one-at-a-time.js'

test('whoever asks at the moment between two runs starts no third beside the second', async () => {
  let [running, most, runs] = [0, 0, 0]
  const work = new OneAtATime(async () => {
    runs++
    most = Math.max(most, ++running)
    for (let turn = 0; turn < 10; turn++) await Promise.resolve()
    running--
  })
  const asked: Promise<unknown>[] = []
  const first = work.run()
  asked.push(work.run())
  for (let turn = 0; turn < 40; turn++) {
    asked.push(work.run())
    await Promise.resolve()
  }
  await Promise.all([first, ...asked])
  assert.equal(most, 1)
  assert.ok(runs > 2)
})
