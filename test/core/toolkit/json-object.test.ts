import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isJsonObject, jsonObject } from 'sallyport/toolkit'

test('only the text of a JSON object is parsed', () => {
  for (const other of ['', '{', '[]', 'null', '1', '"{}"', '{} {}'])
    assert.equal(jsonObject(other), undefined)
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const read = jsonObject(JSON.stringify(value))
      assert.deepEqual(read, isJsonObject(value) ? JSON.parse(JSON.stringify(value)) : undefined)
    }),
  )
})
