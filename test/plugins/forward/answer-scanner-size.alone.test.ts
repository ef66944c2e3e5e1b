import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerEvents } from '#plugins/forward/answer-events.js'
import { AnswerScanner } from '#plugins/forward/answer-scanner.js'

const MIB = 1024 ** 2
const SIZE = 100 * MIB
const MOST_GROWTH = 16 * MIB
// Bytes a second of processor time: far below what was measured, and far above what a search from the start would reach.
const SLOWEST = 10 * MIB

const memory = (): number => {
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  return heapUsed + external + arrayBuffers
}

/** What begins so and then goes on for ever. */
const ENDLESS: readonly (readonly [name: string, start: string, piece: string])[] = [
  ['a text', '{"id":1,"result":{"text":"', 'words and more words '],
  ['a text of escapes', '{"id":1,"result":{"text":"', '\\"\\\\'],
  ['a text of backslashes', '{"id":1,"result":{"text":"', '\\\\'],
  ['objects', '{"id":1,"result":{"a":[', '{"a":[1.5,true,null],"text":"some"},'],
  ['arrays in arrays', '{"id":1,"result":{"a":', '['],
  ['objects in objects', '{"id":1,"result":', '{"a":'],
  ['members', '{"id":1,"result":{', '"a":1,'],
  ['a key', '{"', 'key'],
  ['an id', '{"id":"', 'i'],
  ['a number', '{"id":', '1'],
  ['names of tools', '{"id":1,"result":{"tools":[', '{"name":"tool"},'],
  ['a batch of answers', '[', '{"id":1,"result":{}},'],
  ['spaces', ' ', ' \n'],
  ['letters', '', 'x'],
]

const STREAMS: readonly (readonly [name: string, start: string, piece: string])[] = [
  ['an event of one line', 'data: {"id":1,"result":{"text":"', 'words'],
  ['an event of many lines', 'data: {"id":1,"result":{"a":[\n', 'data: 1,\n'],
  ['a comment', ':', 'words'],
  ['comments', '', ': words\n\n'],
  ['an unknown field', '', 'field'],
  ['answers', '', 'data: {"id":1,"result":{}}\n\n'],
  ['line breaks', '', '\r\n\r\r\n'],
]

const readers = [
  ...ENDLESS.map((each) => [...each, false] as const),
  ...STREAMS.map((each) => [...each, true] as const),
]

for (const [name, start, piece, isStream] of readers) {
  test(`100 MiB of ${name} take no memory, and no time beyond their bytes`, () => {
    const scanner = new AnswerScanner(() => {})
    const reader = isStream ? new AnswerEvents(scanner) : scanner
    // A prime length, so that chunks end anywhere within a piece.
    const bytes = Buffer.from(piece.repeat(Math.ceil(65_537 / piece.length) * 2))
    reader.scan(Buffer.from(start))
    const before = memory()
    const began = process.cpuUsage()
    let most = 0
    for (let sent = 0, from = 0; sent < SIZE; sent += 65_537, from = (from + 65_537) % piece.length) {
      reader.scan(bytes.subarray(from, from + 65_537))
      if (sent % (65_537 * 100) === 0) most = Math.max(most, memory() - before)
    }
    const seconds = process.cpuUsage(began).user / 1e6
    assert.ok(most < MOST_GROWTH, `${Math.round(most / MIB)} MiB more`)
    assert.ok(SIZE / seconds > SLOWEST, `${Math.round(SIZE / seconds / MIB)} MiB a second`)
  })
}
