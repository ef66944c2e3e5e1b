import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError, definePlugin, type List } from 'sallyport'
import { boot } from 'sallyport/embed'
import { contractSuite } from 'sallyport/testing'
import { SharedResources } from '#core/kernel/shared-resources.js'
import { booted, contextFor, recordedLog } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { event, feeder, idsIn, upTo } from './feeder.js'

const audited = (path: string, more: Readonly<Record<string, unknown>> = {}): List => [
  { use: 'audit/file', with: { path, ...more } },
]

contractSuite('audit/file', (t) => ({ list: audited(join(folder(t), 'audit.jsonl')) }))

const linesIn = (path: string): string[] => (existsSync(path) ? idsIn(readFileSync(path, 'utf8')) : [])

test('every event is a line, in order, in a file that only this user may read', async (t) => {
  const path = join(folder(t), 'audit.jsonl')
  const { plugin, feed } = feeder()
  await booted(t, [...audited(path), { use: plugin }])
  const ids = upTo(2_000)

  for (const id of ids) feed(event(id))
  await eventually(() => linesIn(path).length === ids.length)

  assert.deepEqual(linesIn(path), ids)
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('a stop writes the queued events, and earlier lines stay', async (t) => {
  const path = join(folder(t, { 'audit.jsonl': '{"requestId":"before"}\n' }), 'audit.jsonl')
  const { plugin, feed } = feeder()
  const running = await boot([...audited(path), { use: plugin }], contextFor({}))
  for (const id of upTo(100)) feed(event(id))

  await running.stop()
  assert.deepEqual(linesIn(path), ['before', ...upTo(100)])
})

test('after a crash, the torn last line stays a line of its own', async (t) => {
  const path = join(folder(t, { 'audit.jsonl': '{"requestId":"before"}\n{"reques' }), 'audit.jsonl')
  const { plugin, feed } = feeder()
  const running = await boot([...audited(path), { use: plugin }], contextFor({}))
  feed(event('1'))

  await running.stop()
  const [before, torn, first, end] = readFileSync(path, 'utf8').split('\n')
  assert.deepEqual([before, torn, end], ['{"requestId":"before"}', '{"reques', ''])
  assert.equal(JSON.parse(first ?? '').requestId, '1')
})

test('a full file is renamed, `keep` of them stay, and no line is torn or out of order', async (t) => {
  const path = join(folder(t), 'audit.jsonl')
  const { plugin, feed } = feeder()
  const running = await boot(
    [...audited(path, { maxBytes: '64KiB', keep: 3 }), { use: plugin }],
    contextFor({}),
  )
  const ids = upTo(3_000)
  for (const id of ids) feed(event(id, { subject: 'x'.repeat(50) }))
  await running.stop()

  const files = [`${path}.3`, `${path}.2`, `${path}.1`, path]
  const found = files.flatMap(linesIn)
  assert.deepEqual(found, ids.slice(-found.length))
  assert.ok(found.length > 1_000)
  assert.equal(existsSync(`${path}.4`), false)
  for (const file of files) {
    assert.ok(statSync(file).size <= 64 * 1024, file)
    assert.equal(statSync(file).mode & 0o777, 0o600)
  }
  for (const file of files.slice(0, -1)) assert.ok(statSync(file).size > 60 * 1024, file)
})

test('a line that is longer than a file may be has a file of its own', async (t) => {
  const path = join(folder(t), 'audit.jsonl')
  const { plugin, feed } = feeder()
  const running = await boot([...audited(path, { maxBytes: '64KiB' }), { use: plugin }], contextFor({}))
  feed(event('1'))
  feed(event('2', { subject: 'x'.repeat(100_000) }))
  feed(event('3'))
  await running.stop()

  assert.deepEqual([`${path}.2`, `${path}.1`, path].map(linesIn), [['1'], ['2'], ['3']])
})

test('a rotation that was killed half way costs no file', async (t) => {
  const place = folder(t, {
    'audit.jsonl.2': '{"requestId":"old"}\n',
    'audit.jsonl.3': '{"requestId":"oldest"}\n',
  })
  const path = join(place, 'audit.jsonl')
  const { plugin, feed } = feeder()
  const running = await boot(
    [...audited(path, { maxBytes: '64KiB', keep: 3 }), { use: plugin }],
    contextFor({}),
  )
  for (const id of upTo(2)) feed(event(id, { subject: 'x'.repeat(60_000) }))
  await running.stop()

  assert.deepEqual([`${path}.3`, `${path}.2`, `${path}.1`, path].map(linesIn), [
    ['oldest'],
    ['old'],
    ['0'],
    ['1'],
  ])
})

test('after another program moved, deleted or replaced the file, a new one is written', async (t) => {
  const path = join(folder(t), 'audit.jsonl')
  const { plugin, feed } = feeder()
  await booted(t, [...audited(path), { use: plugin }])
  feed(event('1'))
  await eventually(() => linesIn(path).length === 1)

  renameSync(path, `${path}.moved`)
  feed(event('2'))
  await eventually(() => linesIn(path).length === 1)
  unlinkSync(path)
  feed(event('3'))
  // The line before may be there again: the file was deleted before the gateway knew that the line was written.
  await eventually(() => linesIn(path).at(-1) === '3')
  renameSync(path, `${path}.moved.2`)
  writeFileSync(path, '')
  feed(event('4'))
  await eventually(() => linesIn(path)[0] === '4')
  assert.deepEqual(linesIn(`${path}.moved`), ['1'])
  assert.equal(linesIn(`${path}.moved.2`).at(-1), '3')
})

test('the lists before and after a reload share the file, and the newer one has its options', async (t) => {
  const path = join(folder(t), 'audit.jsonl')
  const sharedResources = new SharedResources()
  const before = feeder()
  const after = feeder()
  const old = await boot([...audited(path), { use: before.plugin }], contextFor({ sharedResources }))
  before.feed(event('a'))
  const list = [...audited(path, { maxBytes: '64KiB' }), { use: after.plugin }]
  const next = await boot(list, contextFor({ sharedResources }))
  await next.ready({})
  const ids: string[] = []
  for (const id of upTo(500)) {
    const { feed } = Number(id) % 2 === 0 ? before : after
    feed(event(id, { subject: 'x'.repeat(300) }))
    ids.push(id)
    if (Number(id) === 250) await old.stop()
  }
  await next.stop()

  const found = [`${path}.3`, `${path}.2`, `${path}.1`, path].flatMap(linesIn)
  assert.deepEqual(found, ['a', ...ids])
  assert.ok(existsSync(`${path}.1`))
})

test('a reload that fails leaves the file to the list that stays', async (t) => {
  const path = join(folder(t), 'audit.jsonl')
  const sharedResources = new SharedResources()
  const { plugin, feed } = feeder()
  const old = await boot([...audited(path), { use: plugin }], contextFor({ sharedResources }))
  const fails = definePlugin({
    name: 'fails',
    api: 1,
    setup: (gateway) =>
      gateway.onStart(() => {
        throw new Error('on purpose')
      }),
  })
  await assert.rejects(
    boot([...audited(path), { use: fails }], contextFor({ sharedResources })),
    /on purpose/,
  )

  feed(event('1'))
  await old.stop()
  assert.deepEqual(linesIn(path), ['1'])
})

test('a path that cannot be used ends the start, and the error says what to do', async (t) => {
  const place = folder(t, { 'there.jsonl': '' })
  symlinkSync(join(place, 'there.jsonl'), join(place, 'link.jsonl'))
  mkdirSync(join(place, 'folder'))
  const starts = async (list: List): Promise<string> => {
    const error = await boot(list, contextFor({})).catch((failure: unknown) => failure)
    assert.ok(error instanceof ConfigError, String(error))
    return error.problems.map(({ message }) => message).join()
  }
  assert.match(await starts(audited(join(place, 'link.jsonl'))), /symbolic link: name the file itself/)
  assert.match(
    await starts(audited(join(place, 'folder'))),
    /is a folder: expected a file, such as .*audit\.jsonl/,
  )
  assert.match(await starts(audited(join(place, 'missing/audit.jsonl'))), /no folder .*missing: create it/)
  assert.match(await starts(audited(join(place, 'there.jsonl/audit.jsonl'))), /no folder|cannot write/)
  assert.match(await starts(audited('/dev/null')), /no regular file/)
  assert.match(await starts(audited(join(place, 'a'), { maxBytes: '1KiB' })), /at least 65536/)
  const twice = [
    ...audited(join(place, 'a')),
    { use: 'audit/file', id: 'b', with: { path: join(place, 'folder/../a') } },
  ]
  assert.match(await starts(twice), /two entries of the list write .*a: .* remove one/)
  const inScopes = ['/one', '/two'].map((scope) => ({ scope, plugins: audited(join(place, 'a')) }))
  assert.match(await starts(inScopes), /two entries/)
})

test('the log warns of a file that everybody may read', async (t) => {
  const path = join(folder(t, { 'audit.jsonl': '' }), 'audit.jsonl')
  chmodSync(path, 0o644)
  const { log, lines } = recordedLog()
  await booted(t, audited(path), { log })
  assert.ok(lines.some(({ msg, path: named }) => /readable by everybody/.test(String(msg)) && named === path))
})
