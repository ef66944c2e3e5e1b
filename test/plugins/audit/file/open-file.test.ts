import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, statSync, symlinkSync, unlinkSync } from 'node:fs'
import { appendFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause, setInterval } from 'node:timers/promises'
import { folder } from '#kit/folder.js'
import { noDisk, smallDisk } from '#kit/small-disk.js'
import { OpenFile } from '#plugins/audit/file/open-file.js'
import type { Lines } from '#plugins/audit/lines.js'

const line = (id: string, length = 0): Buffer => Buffer.from(`{"id":"${id}","x":"${'x'.repeat(length)}"}\n`)

const all = (...lines: readonly Buffer[]): Lines => ({
  bytes: Buffer.concat(lines),
  lengths: lines.map(({ length }) => length),
})

async function opened(t: TestContext, path: string): Promise<OpenFile> {
  const file = await OpenFile.open(path)
  t.after(() => file.close())
  return file
}

test('lines that went to a deleted file count as not written', async (t) => {
  const path = join(folder(t), 'audit.jsonl')
  const file = await opened(t, path)
  assert.equal(await file.append(all(line('1'), line('2')), 0), 2)
  unlinkSync(path)
  assert.equal(await file.append(all(line('3')), statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0)
})

test('a file that other processes keep renaming is still opened', async (t) => {
  const path = join(folder(t), 'audit.jsonl')
  const over = new AbortController()
  const renaming = (async () => {
    for await (const _ of setInterval(1, undefined, over))
      await Promise.all([rename(path, `${path}.1`).catch(() => {}), appendFile(path, 'x')])
  })().catch(() => {})
  for (let round = 0; round < 300; round++) await (await OpenFile.open(path)).close()
  over.abort()
  await renaming
})

test('a symbolic link is not followed, also one that replaces the file later', async (t) => {
  const place = folder(t, { other: 'of another program' })
  symlinkSync(join(place, 'other'), join(place, 'audit.jsonl'))
  await assert.rejects(OpenFile.open(join(place, 'audit.jsonl')), { code: 'ELOOP' })
})

test('white space that a full disk left at the end is no torn line', async (t) => {
  const path = join(folder(t, { 'audit.jsonl': '{"id":"0","x":""}\n     ' }), 'audit.jsonl')
  const file = await opened(t, path)
  await file.append(all(line('1')), statSync(path).size)
  assert.equal(readFileSync(path, 'utf8'), '{"id":"0","x":""}\n     {"id":"1","x":""}\n')
})

test('a line that another process is writing is no torn line', async (t) => {
  const whole = String(line('0', 100))
  // So that some parts are written between two checks, which are ten milliseconds apart.
  for (let milliseconds = 0; milliseconds < 8; ) {
    const path = join(folder(t, { 'audit.jsonl': whole.slice(0, 20) }), 'audit.jsonl')
    const began = performance.now()
    const opening = opened(t, path)
    await pause(milliseconds)
    await appendFile(path, whole.slice(20))
    const late = performance.now() - began >= 10
    const file = await opening
    // The machine was so busy that the line looked torn.
    if (late) continue
    await file.append(all(line('1')), statSync(path).size)
    assert.equal(readFileSync(path, 'utf8'), whole + String(line('1')))
    milliseconds++
  }
})

test('after a write that was cut off, its whole lines stay, and later lines of other processes too', {
  skip: noDisk ?? false,
}, async (t) => {
  const disk = smallDisk(t, '64k')
  const path = join(disk.mountPoint, 'audit.jsonl')
  const file = await opened(t, path)
  const lines = Array.from({ length: 100 }, (_, index) => line(String(index), 1_000))
  const written = await file.append(all(...lines), 0)
  assert.ok(written > 50 && written < 70, `${written}`)

  disk.resize('1m')
  appendFileSync(path, line('of another'))
  assert.equal(await file.append(all(...lines.slice(written)), statSync(path).size), lines.length - written)
  const found = readFileSync(path, 'utf8').trimEnd().split('\n')
  assert.equal(found.length, 101)
  assert.match(found[written] ?? '', /^ +\{"id":"of another"/)
  const ids = found.map((text) => JSON.parse(text).id).filter((id) => id !== 'of another')
  assert.deepEqual(ids, [...lines.keys()].map(String))
})
