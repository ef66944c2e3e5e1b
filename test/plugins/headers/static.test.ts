import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ConfigError } from 'sallyport'
import { booted } from '../../kit/booted.js'
import { listening } from '../../kit/listening.js'
import { asking, proxied } from '../forward/proxied.js'

const fixed = (name: string, value: string) => ({
  use: 'headers/static',
  with: { headers: [{ name, value }] },
})

test('headers that frame a message or tell its way are refused in any case (T13)', async (t) => {
  const names = [
    'Host',
    'content-LENGTH',
    'Transfer-Encoding',
    'connection',
    'Keep-Alive',
    'TE',
    'Trailer',
    'Upgrade',
  ]
  names.push(
    'Expect',
    'Forwarded',
    'X-Forwarded-For',
    'x-FORWARDED-anything',
    'Proxy-Authorization',
    'proxy-x',
  )
  names.push('', ' X', 'X ', 'X:', 'X\r\nY', 'X\0', 'Ä', 'a(b)')
  for (const name of names) await assert.rejects(booted(t, [fixed(name, 'x')]), ConfigError, name)
})

test('a value that would end or break its header is refused, and never repeated', async (t) => {
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

test('whatever value is taken arrives as it is, and adds no header', async (t) => {
  const origin = await listening(t, (request, response) => response.end(JSON.stringify(request.rawHeaders)))
  const plain: string[] = JSON.parse((await asking((await proxied(t, origin)).main)).body)

  await fc.assert(
    fc.asyncProperty(fc.string({ minLength: 1, unit: 'binary' }), async (value) => {
      let main: string
      try {
        ;({ main } = await proxied(t, origin, {}, [fixed('X-A', value)]))
      } catch (error) {
        assert.ok(error instanceof ConfigError)
        return
      }
      const raw: string[] = JSON.parse((await asking(main)).body)
      assert.deepEqual(raw.slice(-2), ['x-a', value])
      assert.equal(raw.length, plain.length + 2)
    }),
    { numRuns: 60 },
  )
})
