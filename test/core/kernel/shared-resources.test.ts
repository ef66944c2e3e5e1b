import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Gateway } from 'sallyport'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen, plugin } from '#kit/plugin.js'

function sharing(notes: string[], key: string, more: (gateway: Gateway) => void = () => {}) {
  return plugin('sharing', (gateway) => {
    const open = (): object => {
      notes.push(`open ${key}`)
      return {}
    }
    gateway.share(key, open, () => void notes.push(`close ${key}`))
    more(gateway)
  })
}

test('a shared value outlives a reload that uses the same key, and no other', async (t) => {
  const notes: string[] = []
  const running = await serving(t, [listen, sharing(notes, 'a')])
  await running.swap([listen, sharing(notes, 'a')])
  assert.deepEqual(notes, ['open a'])

  await running.swap([listen, sharing(notes, 'b')])
  await eventually(() => notes.length === 3)
  assert.deepEqual(notes, ['open a', 'open b', 'close a'])

  await running.swap([listen, sharing(notes, 'a')])
  await running.stop()
  assert.deepEqual(notes, ['open a', 'open b', 'close a', 'open a', 'close b', 'close a'])
})

test('a list that fails to boot closes the shared values that it opened, and no others', async (t) => {
  const notes: string[] = []
  const running = await serving(t, [listen, sharing(notes, 'a')])
  const failing = (gateway: Gateway): void => gateway.onReady(() => Promise.reject(new Error('no')))

  await assert.rejects(running.swap([listen, sharing(notes, 'a', failing)]), /failed in ready/)
  assert.deepEqual(notes, ['open a'])
  await assert.rejects(running.swap([listen, sharing(notes, 'b', failing)]), /failed in ready/)
  assert.deepEqual(notes, ['open a', 'open b', 'close b'])
})
