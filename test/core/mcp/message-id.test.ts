import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idTextIn, replyId } from 'sallyport/toolkit'

test('the id of a message is read as it is written, at any position', () => {
  for (const [text, id] of [
    ['{"id":1764316800000000001}', '1764316800000000001'],
    ['{"params":{"id":2,"a":["\\"id\\":3",{"id":4}]}, "id" \n:\t-1.50e+30 ,"x":":"}', '-1.50e+30'],
    ['{"\\u0069d":7}', '7'],
    ['{"id":"a","params":{"id":1}}', undefined],
    ['{"params":{"id":1}}', undefined],
    [`{"id":${'9'.repeat(300)}}`, undefined],
  ] as const)
    assert.equal(idTextIn(text), id, text)
})

test('a reply has the same text as its id', () => {
  assert.equal(
    JSON.stringify({ id: replyId({ id: 1, idText: '1764316800000000001' }) }),
    '{"id":1764316800000000001}',
  )
  assert.deepEqual([replyId({ id: 'a' }), replyId({ id: 7 }), replyId({})], ['a', 7, null])
})
