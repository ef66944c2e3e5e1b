import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folded } from 'sallyport/toolkit'

test('names that Go takes for one fold to one text', () => {
  for (const name of ['skills', 'SKILLS', 's\u212aill\u017f', '\u017f\u212aILLS'])
    assert.equal(folded(name), 'skills')
})
