import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin, type Entry, HeaderSource } from 'sallyport'
import { listening } from '../../kit/listening.js'
import { asking, proxied } from './proxied.js'

const adding = (headers: () => unknown): Entry => ({
  use: definePlugin({
    name: 'adding',
    api: 1,
    provides: [HeaderSource],
    setup: (gateway) => gateway.provide(HeaderSource, { names: ['x-a'], headers } as HeaderSource),
  }),
})

const BROKEN: readonly (readonly [headers: () => unknown, told: RegExp])[] = [
  [() => assert.fail('a mistake of its own'), /"message":"a mistake of its own"/],
  [() => undefined, /did not answer with a list/],
  [() => 'x-a: 1', /did not answer with a list/],
  [() => ({ 'x-a': '1' }), /did not answer with a list/],
  [() => ['x-a'], /no pair of texts/],
  [() => [['x-a', undefined]], /no pair of texts/],
  [() => [['x-b', '1']], /a name that is not in its `names`/],
  [async () => [['x-a', '1']], /answered with a promise/],
  [() => Promise.reject(new Error('away')), /answered with a promise/],
]

test('a plugin whose headers cannot be sent keeps the request in, and the log says what is wrong with it', async (t) => {
  let asked = 0
  const target = await listening(t, (_request, response) => response.end(String(++asked)))
  for (const [headers, told] of BROKEN) {
    const { main, lines } = await proxied(t, target, {}, [adding(headers)])

    const { status, body } = await asking(main)
    assert.equal(status, 502)
    assert.match(body, /headers_failed/)
    const logged = JSON.stringify(lines)
    assert.match(logged, /the header source of x-a/)
    assert.match(logged, told)
  }
  assert.equal(asked, 0)
})
