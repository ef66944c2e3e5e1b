import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { noDisk, smallDisk } from '#kit/small-disk.js'
import { appending } from './appending.js'
import { AGAIN, auditing, LOSING, LOST, WAITING } from './auditing.js'
import { event, idsIn, upTo } from './feeder.js'

const skip = noDisk ?? false

const writing = (t: TestContext, path: string, more: Readonly<Record<string, unknown>> = {}) =>
  auditing(t, { use: 'audit/file', with: { path, ...more } })

test('a full disk tears no line, and loses no line that fits into memory', { skip }, async (t) => {
  const disk = smallDisk(t)
  const path = join(disk.mountPoint, 'audit.jsonl')
  const { running, feed, said, lost } = await writing(t, path)
  const ids = upTo(3_000)
  for (const id of ids) feed(event(id, { subject: 'x'.repeat(Number(id) % 200) }))
  await eventually(() => said(WAITING).length === 1)
  const written = readFileSync(path, 'utf8')
  const whole = idsIn(written)
  assert.ok(whole.length > 500 && whole.length < 3_000)
  assert.match(written.slice(written.lastIndexOf('\n') + 1), /^ *$/)

  disk.resize('4m')
  await eventually(() => said(AGAIN).length === 1)
  await running.stop()
  assert.deepEqual(idsIn(readFileSync(path, 'utf8')), ids)
  assert.equal(lost(), 0)
  assert.equal(said(AGAIN)[0]?.['lost'], 0)
})

test('events that do not fit into memory are lost, counted and logged', { skip }, async (t) => {
  const disk = smallDisk(t)
  const path = join(disk.mountPoint, 'audit.jsonl')
  const { running, feed, said, lost } = await writing(t, path)
  disk.faults.full.begin()
  const count = 10_000
  for (const id of upTo(count)) feed(event(id, { subject: 'x'.repeat(1_000) }))
  await eventually(() => said(WAITING).length === 1)
  assert.ok(lost() > 1_000 && lost() < 5_000, `${lost()}`)
  assert.equal(said(LOSING).length, 1)

  disk.faults.full.end()
  disk.resize('32m')
  await eventually(() => said(AGAIN).length === 1)
  feed(event('after'))
  await running.stop()
  const found = idsIn(readFileSync(path, 'utf8'))
  const kept = count - lost()
  assert.deepEqual(found, [...upTo(kept), 'after'])
  assert.equal(said(AGAIN)[0]?.['lost'], lost())
})

test('a stop with a full disk ends in time, and logs how many events are lost', { skip }, async (t) => {
  const disk = smallDisk(t)
  const { running, feed, said, lost } = await writing(t, join(disk.mountPoint, 'audit.jsonl'))
  disk.faults.full.begin()
  for (const id of upTo(100)) feed(event(id))
  await running.stop()
  assert.equal(lost(), 100)
  assert.equal(said(LOST)[0]?.['lost'], 100)
})

test('where files cannot be renamed, the file grows, and nothing is lost', { skip }, async (t) => {
  const disk = smallDisk(t, '8m')
  const path = join(disk.mountPoint, 'audit.jsonl')
  const { running, feed, said, lost } = await writing(t, path, { maxBytes: '64KiB', keep: 1 })
  mkdirSync(`${path}.1`)
  writeFileSync(join(`${path}.1`, 'in-the-way'), '')
  const ids = upTo(2_000)
  for (const id of ids) feed(event(id))
  await running.stop()
  assert.deepEqual(idsIn(readFileSync(path, 'utf8')), ids)
  assert.equal(lost(), 0)
  assert.equal(said('the audit file cannot be rotated, and grows').length, 1)
})

test('processes that share a full disk tear no line of each other', { skip }, async (t) => {
  const disk = smallDisk(t)
  const path = join(disk.mountPoint, 'audit.jsonl')
  const names = ['a', 'b', 'c']
  const others = names.map((name) => appending(t, name, 3_000, { path }))
  await eventually(() => existsSync(path) && statSync(path).size > 0)
  // The disk gets free in small pieces, so that writes often end in the middle of lines.
  for (let kibibytes = 256; kibibytes < 3_500; kibibytes += 28) {
    disk.resize(`${kibibytes}k`)
    await setTimeout(60)
  }
  disk.resize('8m')
  await Promise.all(others.map(({ done }) => done))
  await eventually(() => readFileSync(path, 'utf8').split('\n').length > 9_000)
  await Promise.all(others.map(({ stop }) => stop()))

  const text = readFileSync(path, 'utf8')
  assert.match(text, /\n +\{/, 'no write was cut off')
  const found = idsIn(text)
  for (const name of names) {
    const own = found.filter((id) => id.startsWith(name))
    assert.deepEqual(own, upTo(3_000, name))
  }
})

test('processes that share a file rotate it together, and lose nothing', async (t) => {
  const path = join(folder(t), 'audit.jsonl')
  const names = ['a', 'b', 'c', 'd']
  const others = names.map((name) => appending(t, name, 2_000, { path, maxBytes: '64KiB', keep: 1_000 }))
  await Promise.all(others.map(({ done }) => done))
  await Promise.all(others.map(({ stop }) => stop()))

  const files = [path]
  while (existsSync(`${path}.${files.length}`)) files.push(`${path}.${files.length}`)
  assert.ok(files.length > 15, `${files.length} files`)
  const found = files.toReversed().flatMap((file) => idsIn(readFileSync(file, 'utf8')))
  for (const name of names) {
    const own = found.filter((id) => id.startsWith(name))
    assert.deepEqual(own, upTo(2_000, name))
  }
  // Each process checks the size alone, so all may write at once and exceed it; no file is renamed too soon.
  for (const file of files) assert.ok(statSync(file).size <= names.length * 64 * 1024, file)
  for (const file of files.slice(1)) assert.ok(statSync(file).size > 60 * 1024, file)
})
