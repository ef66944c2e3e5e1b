import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin, type Gateway, PublicAddress } from 'sallyport'
import { serving } from '../kit/booted.js'

const listen = { use: 'listen/http', with: { address: '127.0.0.1:0' } }

function keeping(notes: string[], key: string, more: (gateway: Gateway) => void = () => {}) {
  const use = definePlugin({
    name: 'keeping',
    api: 1,
    setup(gateway) {
      const open = (): object => {
        notes.push(`open ${key}`)
        return {}
      }
      gateway.keep(key, open, () => void notes.push(`close ${key}`))
      more(gateway)
    },
  })
  return { use }
}

test('what a plugin keeps outlives an exchange of the list by the same key, and nothing else does', async (t) => {
  const notes: string[] = []
  const running = await serving(t, [listen, keeping(notes, 'a')])
  await running.swap([listen, keeping(notes, 'a')])
  assert.deepEqual(notes, ['open a'])

  await running.swap([listen, keeping(notes, 'b')])
  assert.deepEqual(notes, ['open a', 'open b', 'close a'])

  await running.stop()
  assert.deepEqual(notes, ['open a', 'open b', 'close a', 'close b'])
})

test('a list that fails to boot takes nothing with it', async (t) => {
  const notes: string[] = []
  const running = await serving(t, [listen, keeping(notes, 'a')])
  const failing = (gateway: Gateway): void => gateway.onReady(() => Promise.reject(new Error('no')))

  await assert.rejects(running.swap([listen, keeping(notes, 'a', failing)]), /failed in ready/)
  assert.deepEqual(notes, ['open a'])
  await assert.rejects(running.swap([listen, keeping(notes, 'b', failing)]), /failed in ready/)
  assert.deepEqual(notes, ['open a', 'open b', 'close b'])
})

test('a public address is told beside those of the doors, once it is known', async (t) => {
  let origin: string | undefined
  const address = definePlugin({
    name: 'address',
    api: 1,
    provides: [PublicAddress],
    setup(gateway) {
      gateway.provide(PublicAddress, {
        get origin() {
          return origin
        },
        watch: () => {},
      })
    },
  })
  const running = await serving(t, [listen, { use: address }])

  assert.equal('public' in running.addresses, false)
  origin = 'https://a.example'
  assert.equal(running.addresses.public, 'https://a.example')
})
