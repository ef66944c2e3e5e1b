import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogScrubber } from 'sallyport/embed'

test('a secret is known until every add of it was undone', () => {
  const scrubber = new LogScrubber()
  const [first, second] = [scrubber.add('swordfish'), scrubber.add('swordfish')]
  first()
  first()
  assert.equal(scrubber.knows('swordfish'), true)
  assert.equal(scrubber.knows('sword'), false)
  second()
  assert.equal(scrubber.knows('swordfish'), false)
})

test('a text of three letters is not scrubbed', () => {
  const scrubber = new LogScrubber()
  scrubber.add('abc')
  assert.equal(scrubber.knows('abc'), false)
})
