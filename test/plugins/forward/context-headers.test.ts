import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Entry, HeaderSource } from 'sallyport'
import { listening } from '#kit/listening.js'
import { providing } from '#kit/plugin.js'
import { proxied, send } from './proxied.js'

const headerSource = (headers: () => unknown): Entry =>
  providing('adding', HeaderSource, { names: ['x-a'], headers } as HeaderSource)

const BROKEN: readonly (readonly [headers: () => unknown, told: RegExp])[] = [
  [() => assert.fail('a mistake of its own'), /"message":"a mistake of its own"/],
  [() => undefined, /did not return a list/],
  [() => 'x-a: 1', /did not return a list/],
  [() => ({ 'x-a': '1' }), /did not return a list/],
  [() => ['x-a'], /other than pairs of strings/],
  [() => [['x-a', undefined]], /other than pairs of strings/],
  [() => [['x-b', '1']], /a name that is not in its `names`/],
  [async () => [['x-a', '1']], /returned a promise/],
  [() => Promise.reject(new Error('away')), /returned a promise/],
]

test('a request with invalid added headers is not forwarded, and the log says why', async (t) => {
  let asked = 0
  const target = await listening(t, (_request, response) => response.end(String(++asked)))
  for (const [headers, told] of BROKEN) {
    const { main, lines } = await proxied(t, target, {}, [headerSource(headers)])

    const { status, body } = await send(main)
    assert.equal(status, 502)
    assert.match(body, /headers_failed/)
    const logged = JSON.stringify(lines)
    assert.match(logged, /the header source of x-a/)
    assert.match(logged, told)
  }
  assert.equal(asked, 0)
})
