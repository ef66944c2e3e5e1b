import assert from 'node:assert/strict'
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type TestContext, test } from 'node:test'
import { ConfigError } from 'sallyport'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { noDisk, smallDisk } from '#kit/small-disk.js'
import { type JournalChange, lineOf } from '#plugins/store/files/journal-line.js'
import { actor, journalIn, publish, publishing, versionsIn } from '../publishing.js'

const files = (directory: string) => ({ use: 'store/files', with: { directory } })
const pathOf = (directory: string): string => journalIn(directory, readdirSync(directory))

/** A folder in which three versions were published. */
async function published(t: TestContext) {
  const directory = folder(t)
  const { publications, stop } = await publishing(t, files(directory))
  for (const version of ['1', '2', '3']) await publish(publications, 'a.example/one', version)
  await stop()
  return { directory, path: pathOf(directory) }
}

test('everything is there after another start, and only this user may read it', async (t) => {
  const { directory, path } = await published(t)
  const { publications } = await publishing(t, files(directory))
  assert.equal((await versionsIn(publications)).length, 3)
  assert.equal((await publications.history('a.example/one', 2))[0]?.version, '3')
  assert.equal(statSync(path).mode & 0o777, 0o600)
  await assert.rejects(publish(publications, 'a.example/one', '1'), { code: 'VERSION_EXISTS' })
})

test('a torn last line is cut off, wherever it was torn', async (t) => {
  const { directory, path } = await published(t)
  const whole = readFileSync(path)
  const last = whole.lastIndexOf('\n', -2) + 1
  for (const kept of [1, 10, whole.length - last - 1]) {
    writeFileSync(path, whole.subarray(0, last + kept))
    const { publications, lines, stop } = await publishing(t, files(directory))
    assert.deepEqual(await versionsIn(publications), ['a.example/one@1', 'a.example/one@2'])
    assert.ok(lines.some(({ msg, bytes }) => bytes === kept && /cut off/.test(String(msg))))
    await publish(publications, 'a.example/one', '3')
    await stop()
    const again = await publishing(t, files(directory))
    assert.equal((await versionsIn(again.publications)).length, 3)
    await again.stop()
  }
})

test('a full disk stops the start, and is no mistake of the configuration: another try may find room', {
  skip: noDisk,
}, async (t) => {
  const { place, faults } = smallDisk(t)
  const { publications, stop } = await publishing(t, files(place))
  await publish(publications, 'a.example/one', '1')
  const path = pathOf(place)
  await stop()
  faults.full.begin()
  await assert.rejects(publishing(t, files(place)), (error) => {
    assert.ok(error instanceof Error && !(error instanceof ConfigError), String(error))
    assert.ok(error.message.includes(`${path}: the disk is full (ENOSPC)`), error.message)
    return true
  })
  faults.full.end()
  const again = await publishing(t, files(place))
  assert.deepEqual(await versionsIn(again.publications), ['a.example/one@1'])
  await again.stop()
})

test('a line that is not as it was written stops the start, which names file and line and changes nothing', async (t) => {
  const { directory, path } = await published(t)
  const text = readFileSync(path, 'utf8')
  const lines = text.split('\n')
  const event = { name: 'a.example/one', version: '4', at: '2020-01-01T00:00:00.000Z', actor }
  const published4 = { ...event, action: 'publish', after: { status: 'active' } } as const
  const deleted = { ...event, version: '1', action: 'status', after: { status: 'deleted' } } as const
  const wrong: readonly JournalChange[] = [
    { number: 4, events: [published4] },
    { number: 4, events: [published4, { ...published4, version: '5' }], server: '{}' },
    { number: 4, events: [{ ...published4, version: '3' }], server: '{}' },
    { number: 5, events: [published4], server: '{}' },
    { number: 4, events: [deleted], server: '{}' },
    { number: 4, events: [{ ...deleted, version: '4' }] },
    { number: 4, events: [deleted, { ...deleted, version: '2', name: 'a.example/two' }] },
    { number: 4, events: [deleted, { ...deleted, version: '2', at: '2020-01-01T00:00:00.001Z' }] },
    { number: 4, events: [deleted, { ...deleted, version: '2', after: { status: 'active' } }] },
  ]
  const damaged: readonly (readonly [string, number])[] = [
    ...wrong.map((change) => [`${text}${lineOf(change)}`, 5] as const),
    [[lineOf({ format: 1, source: 'another' }).toString().trimEnd(), ...lines.slice(1)].join('\n'), 1],
    [text.replace('"version":"2"', '"version":"9"'), 3],
    [text.replace('"format":1', '"format":2'), 1],
    [[lines[0], lines[1], lines[3], ''].join('\n'), 3],
    [`${text}nonsense\n`, 5],
    [`${text}${lines[1]}\n`, 5],
  ]
  for (const [content, line] of damaged) {
    writeFileSync(path, content)
    await assert.rejects(publishing(t, files(directory)), (error: Error) => {
      assert.match(error.message, new RegExp(`\\.journal:${line}: .*damaged.*restore it from a backup`))
      assert.doesNotMatch(error.message, /cannot be used/)
      return true
    })
    assert.equal(readFileSync(path, 'utf8'), content)
  }
  writeFileSync(path, text)
  const { publications } = await publishing(t, files(directory))
  assert.equal((await versionsIn(publications)).length, 3)
})

test('a second process over the same folder ends at its start, and names the first', async (t) => {
  const directory = folder(t)
  const first = await publishing(t, files(directory))
  await assert.rejects(publishing(t, files(directory)), new RegExp(`process ${process.pid} on `))
  await publish(first.publications, 'a.example/one', '1')
  await first.stop()
  const next = await publishing(t, files(directory))
  assert.deepEqual(await versionsIn(next.publications), ['a.example/one@1'])
})

test('a journal that was moved away or changed by others takes nothing, and says so', async (t) => {
  const directory = folder(t)
  const { publications } = await publishing(t, files(directory))
  await publish(publications, 'a.example/one', '1')
  const path = pathOf(directory)
  const refused = { statusCode: 503, code: 'JOURNAL_UNWRITABLE' }

  renameSync(path, `${path}.away`)
  await assert.rejects(publish(publications, 'a.example/one', '2'), refused)
  writeFileSync(path, 'another')
  await assert.rejects(publish(publications, 'a.example/one', '2'), refused)
  renameSync(`${path}.away`, path)
  await publish(publications, 'a.example/one', '2')

  appendFileSync(path, 'x')
  await assert.rejects(
    publications.setStatus({ name: 'a.example/one' }, { status: 'deleted' }, actor),
    refused,
  )
  assert.equal((await versionsIn(publications)).length, 2)
  assert.ok(readFileSync(path, 'utf8').endsWith('x'), 'what another wrote stays')
})

test('a journal that is gone is told at once, and a start without it is refused', async (t) => {
  const directory = folder(t)
  const { app, publications, stop } = await publishing(t, files(directory))
  await publish(publications, 'a.example/one', '1')
  const path = pathOf(directory)
  const reasonOf = async () => JSON.stringify((await app.inject('/internal/readiness')).json())
  renameSync(path, `${path}.away`)

  await assert.rejects(publish(publications, 'a.example/one', '2'), {
    message: /its file is gone: put it back before you restart/,
  })
  await eventually(async () => /degraded.*put it back before you restart/.test(await reasonOf()))
  renameSync(`${path}.away`, path)
  await eventually(async () => !/degraded/.test(await reasonOf()))
  renameSync(path, `${path}.away`)
  await stop()

  for (const content of [undefined, '', 'torn']) {
    assert.equal(existsSync(path), content === 'torn', 'a refused start makes no file')
    if (content !== undefined) writeFileSync(path, content)
    await assert.rejects(publishing(t, files(directory)), (error: Error) => {
      for (const said of [path, `${path}.created`, 'restore it', 'begin anew'])
        assert.ok(error.message.includes(said), error.message)
      return true
    })
  }
  renameSync(`${path}.away`, path)
  const again = await publishing(t, files(directory))
  assert.deepEqual(await versionsIn(again.publications), ['a.example/one@1'])
  await again.stop()
  rmSync(path)
  rmSync(`${path}.created`)
  symlinkSync(`${path}.created`, `${path}.created`)
  await assert.rejects(publishing(t, files(directory)), /cannot be used/, 'what it says is not known')
  rmSync(`${path}.created`)
  assert.deepEqual(await versionsIn((await publishing(t, files(directory))).publications), [])
})

test('a date in the future is told at the start and at each write', async (t) => {
  const { directory, path } = await published(t)
  const at = '2999-01-01T00:00:00.000Z'
  const event = { name: 'a.example/one', version: '4', at, action: 'publish' as const, actor }
  const change = { number: 4, events: [{ ...event, after: { status: 'active' as const } }], server: '{}' }
  appendFileSync(path, lineOf(change))
  const { publications, lines } = await publishing(t, files(directory))
  const told = () => lines.filter(({ msg }) => /dated in the future/.test(String(msg))).length
  assert.equal(told(), 1)
  assert.equal((await publish(publications, 'a.example/one', '5')).at, at)
  assert.equal(told(), 2)
})

test('a watcher that throws keeps nobody from publishing', async (t) => {
  const { publications, lines } = await publishing(t, files(folder(t)))
  publications.watch(() => {
    throw new Error('broken watcher')
  })
  let woken = 0
  publications.watch(() => woken++)
  for (const version of ['1', '2', '3']) await publish(publications, 'a.example/one', version)
  assert.equal(woken, 3)
  assert.ok(lines.some(({ err }) => /broken watcher/.test(JSON.stringify(err))))
})

test('the history is not read from the file, however long a change is', async (t) => {
  const directory = folder(t)
  const { publications, stop } = await publishing(t, files(directory))
  for (const version of ['1', '2', '3']) await publish(publications, 'a.example/one', version)
  const gone = { status: 'deleted', statusMessage: 'x' } as const
  await publications.setStatus({ name: 'a.example/one' }, gone, { provider: 'corp', subject: 'bob' })
  const history = await publications.history('a.example/one', 5)
  assert.deepEqual(
    history.map(({ version, action, actor: { subject }, before, after }) =>
      [version, action, subject, before?.status, after.status].join(' '),
    ),
    [
      '3 status bob active deleted',
      '2 status bob active deleted',
      '1 status bob active deleted',
      '3 publish ann  active',
      '2 publish ann  active',
    ],
  )
  await stop()
  const again = await publishing(t, files(directory))
  assert.deepEqual(await again.publications.history('a.example/one', 5), history)
  const key = { name: 'a.example/one', version: '1' }
  assert.deepEqual(await again.publications.publisher(key), actor)
  assert.equal(await again.publications.publisher({ ...key, version: '9' }), undefined)
})
