import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folded } from 'sallyport/toolkit'

test('what Go takes for one name is folded to one', () => {
  for (const name of ['skills', 'SKILLS', 's\u212aill\u017f', '\u017f\u212aILLS'])
    assert.equal(folded(name), 'skills')
})
