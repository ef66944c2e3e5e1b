import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { ResponseList } from '#core/http/in-flight.js'

const responses = Array.from({ length: 8 }, () => new ServerResponse(new IncomingMessage(new Socket())))

test('the list holds all responses that were added and not deleted, in any order', () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.nat(responses.length - 1)), { maxLength: 50 })
  fc.assert(
    fc.property(steps, (taken) => {
      const list = new ResponseList()
      const expected = new Set<ServerResponse>()
      for (const [adds, index] of taken) {
        const response = responses[index]
        assert.ok(response)
        if (adds && !expected.has(response)) {
          list.add(response)
          expected.add(response)
        } else if (!adds) {
          list.delete(response)
          expected.delete(response)
        }
        assert.equal(list.size, expected.size)
        assert.deepEqual(new Set(list.all()), expected)
      }
      for (const response of list.all()) list.delete(response)
    }),
  )
})
