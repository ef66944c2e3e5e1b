import assert from 'node:assert/strict'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { LineHandler } from '#cli/commands/tail/selection.js'
import { OpenFile } from '#cli/commands/tail/source.js'
import { folder } from '#kit/folder.js'

test('an unfinished line that becomes blanks while tail reads it hides no later line', async (t) => {
  const path = join(folder(t, { 'audit.jsonl': 'one\n{"at":"2026' }), 'audit.jsonl')
  const file = await OpenFile.at(path)
  t.after(() => file.close())
  const taken: string[] = []
  const onLine: LineHandler = (line) => void taken.push(String(line).trim())
  // Between two reads.
  let round = 0
  const flush = async (): Promise<void> => {
    if (round++ > 0) return
    writeFileSync(path, `one\n${' '.repeat(11)}`)
    appendFileSync(path, 'two\n')
  }
  const { signal } = new AbortController()
  for (let pass = 0; pass < 2; pass++) await file.readOn({ onLine, flush, signal })
  assert.deepEqual(taken, ['one', 'two'])
})
