import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogScrubber } from 'sallyport/embed'
import { childEnvironment } from 'sallyport/toolkit'

test("a child program gets the common variables, without the gateway's variables and secrets", (t) => {
  const before = { ...process.env }
  t.after(() => {
    process.env = before
  })
  process.env = {
    PATH: '/the/path',
    HOME: '/home/of/somebody',
    SALLYPORT_TOKEN: 'a',
    SERVICE_TOKEN: 'b',
    COPIED: 'swordfish',
    OTHER: 'kept',
  }
  const scrubber = new LogScrubber()
  scrubber.add('swordfish')
  scrubber.add('/the/path')

  assert.deepEqual(childEnvironment(scrubber), {
    PATH: '/the/path',
    HOME: '/home/of/somebody',
    OTHER: 'kept',
  })
})
