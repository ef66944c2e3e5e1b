import assert from 'node:assert/strict'
import { readdirSync, readFileSync, renameSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { folder } from '#kit/folder.js'
import { noDisk, smallDisk } from '#kit/small-disk.js'
import { JournalFile } from '#plugins/store/files/journal-file.js'
import { actor, journalIn, limits, publish, publishing, versionOf, versionsIn } from '../publishing.js'

const files = (directory: string) => ({ use: 'store/files', with: { directory } })

test('on a full disk nothing is half stored, and it goes on once there is room', {
  skip: noDisk,
}, async (t) => {
  const { place, faults } = smallDisk(t)
  const { publications, stop } = await publishing(t, files(place))
  await publish(publications, 'a.example/one', '1')
  const path = journalIn(place, readdirSync(place))
  const before = readFileSync(path)

  faults.full.begin()
  const large = JSON.stringify({ name: 'a.example/one', version: '2', description: 'x'.repeat(20_000) })
  await assert.rejects(publications.publish(versionOf('a.example/one', '2', large), actor, limits), {
    statusCode: 503,
    code: 'JOURNAL_UNWRITABLE',
    message: /the disk is full/,
  })
  assert.deepEqual(readFileSync(path), before)
  assert.deepEqual(await versionsIn(publications), ['a.example/one@1'])

  faults.full.end()
  await publish(publications, 'a.example/one', '2')
  await stop()
  const again = await publishing(t, files(place))
  assert.deepEqual(await versionsIn(again.publications), ['a.example/one@1', 'a.example/one@2'])
  await again.stop()
})

async function opened(t: TestContext, content: string) {
  const path = join(folder(t, { journal: content }), 'journal')
  const file = await JournalFile.open(path)
  t.after(() => file.close())
  const lines: string[] = []
  for await (const { line } of file.lines()) lines.push(line.toString())
  return { path, file, lines }
}

test('what stands behind the last whole line is gone before the next one is written', async (t) => {
  const { path, file, lines } = await opened(t, 'one\ntor')
  assert.deepEqual(lines, ['one\n'])
  assert.equal(await file.append(Buffer.from('two\n')), 4)
  assert.equal(readFileSync(path, 'utf8'), 'one\ntwo\n')
})

test('long lines are whole, and of many no more is read at once than a mebibyte', async (t) => {
  const written = [3, 2, 1].map((size) => `${'x'.repeat(size * 400_000)}\n`)
  const { file, lines } = await opened(t, written.join(''))
  assert.ok(lines.every((line, index) => line === written[index]))

  const places = [0, 1_200_001, 2_000_002].map((start, index) => ({
    start,
    length: written[index]?.length ?? 0,
  }))
  const read: number[] = []
  for await (const [{ start }, line] of file.readEach(places, (place) => place)) {
    assert.equal(line.toString(), written[places.findIndex((place) => place.start === start)])
    read.push(line.buffer.byteLength)
  }
  assert.deepEqual(read, [1_200_001, 800_001, 400_001])
  // What is near enough is read at once.
  const near = places.map(({ start }) => ({ start, length: 1 })).slice(1)
  for await (const [, line] of file.readEach(near, (place) => place))
    assert.equal(line.buffer.byteLength, 800_002)
})

test('a file that another process made shorter is not filled up', async (t) => {
  const { path, file } = await opened(t, 'one\ntwo\n')
  truncateSync(path, 4)
  await assert.rejects(file.append(Buffer.from('three\n')), /another process has changed it/)
  assert.equal(readFileSync(path, 'utf8'), 'one\n')
})

test('what was written while the file was moved away is not stored', async (t) => {
  const { path, file } = await opened(t, 'one\n')
  const appended = file.append(Buffer.alloc(64 * 1024 * 1024, 'x'))
  const refused = assert.rejects(appended, /its file is gone/)
  while (statSync(path).size === 4) await setImmediate()
  renameSync(path, `${path}.away`)
  await refused
  assert.equal(readFileSync(`${path}.away`, 'utf8'), 'one\n')
})
