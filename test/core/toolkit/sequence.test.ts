import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Sequence } from 'sallyport/toolkit'

test('each work begins when the work before it has ended or failed', async () => {
  const sequence = new Sequence()
  const told: string[] = []
  const work = (name: string, fails: boolean) => async () => {
    told.push(`${name} begins`)
    await new Promise((resolve) => setImmediate(resolve))
    told.push(`${name} ends`)
    if (fails) throw new Error(name)
    return name
  }
  const failing = sequence.run(work('first', true))
  const second = sequence.run(work('second', false))
  await assert.rejects(failing, /first/)
  assert.equal(await second, 'second')
  await sequence.idle
  assert.deepEqual(told, ['first begins', 'first ends', 'second begins', 'second ends'])
})
