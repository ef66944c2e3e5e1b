import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ConfigError } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { booted } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { runs } from '#kit/runs.js'
import { proxied, send } from '../forward/proxied.js'

const fixed = (name: string, value: string) => ({
  use: 'headers/static',
  with: { headers: [{ name, value }] },
})

test('a value that would end or break its header is refused, and the message does not show it', async (t) => {
  for (const value of [
    'hunter2\r\nX: 1',
    'hunter2\n',
    '\0hunter2',
    ' hunter2',
    'hunter2 ',
    'hunter2\x7f',
    'hunter2Ā',
  ]) {
    await assert.rejects(booted(t, [fixed('X-A', value)]), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.doesNotMatch(error.message, /hunter2/)
      return true
    })
  }
})

test('an empty value is one problem', async (t) => {
  await assert.rejects(booted(t, [fixed('X-A', '')]), (error) => {
    assert.ok(error instanceof ConfigError)
    assert.equal(error.problems.length, 1)
    assert.match(error.message, /headers\[0\]\.value.*not empty/)
    return true
  })
})

test('an accepted value is sent unchanged, and adds no header', async (t) => {
  const origin = await listening(t, (request, response) => response.end(JSON.stringify(request.rawHeaders)))
  const plain: string[] = JSON.parse((await send((await proxied(t, origin)).main)).body)

  await fc.assert(
    fc.asyncProperty(fc.string({ minLength: 1, unit: 'binary' }), async (value) => {
      let main: string
      try {
        ;({ main } = await proxied(t, origin, {}, [fixed('X-A', value)]))
      } catch (error) {
        assert.ok(error instanceof ConfigError)
        return
      }
      const raw: string[] = JSON.parse((await send(main)).body)
      assert.deepEqual(raw.slice(-2), ['x-a', value])
      assert.equal(raw.length, plain.length + 2)
    }),
    { numRuns: runs(60) },
  )
})

contractSuite('headers/static', () => ({
  list: [{ use: 'headers/static', with: { headers: [{ name: 'X-One', value: '1' }] } }],
}))
