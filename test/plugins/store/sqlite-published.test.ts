import assert from 'node:assert/strict'
import {
  closeSync,
  existsSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { actor, publish, publishing, versionsIn } from './publishing.js'

const NAME = 'a.example/one'
const { signal } = new AbortController()

const entry = (directory: string) => ({ use: 'store/sqlite', with: { directory } })
const pathIn = (directory: string): string => join(directory, 'published.sqlite')
const published = (t: TestContext, directory = folder(t)) => publishing(t, entry(directory))

/** Changes the database as another program would, while nothing has it open. */
function changed(path: string, sql: string): void {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}

/** A folder in which three versions were published. */
async function afterThree(t: TestContext): Promise<string> {
  const directory = folder(t)
  const { publications, stop } = await published(t, directory)
  for (const version of ['1', '2', '3']) await publish(publications, NAME, version)
  await stop()
  return directory
}

test('all publications are kept over a restart, and only this user may read them', async (t) => {
  const directory = await afterThree(t)
  const { publications } = await published(t, directory)
  assert.equal((await versionsIn(publications)).length, 3)
  assert.equal((await publications.history(NAME, 2))[0]?.version, '3')
  for (const file of ['', '-wal', '-shm'])
    assert.equal(statSync(pathIn(directory) + file).mode & 0o777, 0o600)
  await assert.rejects(publish(publications, NAME, '1'), { code: 'VERSION_EXISTS' })
})

test('a reader whose revision this database never had, such as after a backup, reads all of it', async (t) => {
  const { publications } = await published(t)
  await publish(publications, NAME, '1')
  await publish(publications, NAME, '2')

  for (const since of ['3', '-1', '0.5', 'x', 'Infinity']) {
    const { kind } = await publications.read(since, signal)
    assert.equal(kind, 'whole', since)
    assert.deepEqual(await versionsIn(publications, since), [`${NAME}@1`, `${NAME}@2`], since)
  }
  assert.equal((await publications.read('2', signal)).kind, 'unchanged')
  assert.deepEqual(await versionsIn(publications, '1'), [`${NAME}@2`])
})

test('a read that its caller ends reads no further', async (t) => {
  const { publications } = await published(t)
  await publish(publications, NAME, '1')
  const end = new AbortController()
  const { payloads } = await publications.read(undefined, end.signal)

  end.abort(new Error('ended'))
  const reading = async (): Promise<void> => {
    for await (const _ of payloads) assert.fail('it reads on')
  }
  await assert.rejects(reading, { message: 'ended' })
})

test('a read of many batches returns all versions, each once', async (t) => {
  const { publications } = await published(t)
  const versions = Array.from({ length: 450 }, (_, index) => `${index}`)
  await Promise.all(versions.map((version) => publish(publications, NAME, version)))
  const found = await versionsIn(publications)
  assert.equal(found.length, 450)
  assert.equal(new Set(found).size, 450)
})

test('one function may watch twice, and is called for stored changes only, also beside one that throws', async (t) => {
  const { publications, lines } = await published(t)
  await publish(publications, NAME, '1')
  publications.watch(() => {
    throw new Error('broken watcher')
  })
  let calls = 0
  const watcher = (): void => void calls++
  const end = publications.watch(watcher)
  publications.watch(watcher)

  await publications.setStatus({ name: NAME }, { status: 'active' }, actor)
  assert.equal(calls, 0)
  await publish(publications, NAME, '2')
  assert.equal(calls, 2)
  end()
  await publish(publications, NAME, '3')
  assert.equal(calls, 3)
  assert.ok(lines.some(({ err }) => /broken watcher/.test(JSON.stringify(err))))
})

test('the first of several concurrent publications of a version wins', async (t) => {
  const { publications } = await published(t)
  const results = await Promise.allSettled([1, 2, 3].map(() => publish(publications, NAME, '1')))
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected'],
  )
})

test('a stop stores running writes, and refuses later ones', async (t) => {
  const directory = folder(t)
  const { publications, stop } = await published(t, directory)
  const last = publish(publications, NAME, '1')
  await Promise.all([last, stop()])
  await assert.rejects(async () => publish(publications, NAME, '2'), {
    code: 'STORE_UNWRITABLE',
    message: /the gateway is stopping/,
  })

  const again = await published(t, directory)
  assert.deepEqual(await versionsIn(again.publications), [`${NAME}@1`])
})

test('a second process over the same folder ends at its start, and names the first', async (t) => {
  const directory = folder(t)
  const first = await published(t, directory)
  await assert.rejects(published(t, directory), new RegExp(`process ${process.pid} on `))
  await publish(first.publications, NAME, '1')
  await first.stop()
  const next = await published(t, directory)
  assert.deepEqual(await versionsIn(next.publications), [`${NAME}@1`])
})

const UNUSABLE: Readonly<Record<string, readonly [(path: string) => void, RegExp]>> = {
  'a damaged page': [
    (path) => {
      // The page of an index, once nothing of it is in the log.
      const database = new DatabaseSync(path)
      const root = Number(
        database.prepare("select rootpage from sqlite_schema where name = 'event_name'").get()?.['rootpage'],
      )
      database.close()
      const file = openSync(path, 'r+')
      writeSync(file, Buffer.alloc(200), 0, 200, (root - 1) * 4096)
      closeSync(file)
    },
    /damaged: restore it from a backup/,
  ],
  'another file': [(path) => writeFileSync(path, 'x'.repeat(5000)), /damaged, or no database/],
  'a newer level': [(path) => changed(path, 'pragma user_version = 7'), /a newer version wrote it \(level 7/],
  'the database of another program': [
    (path) => changed(path, 'pragma application_id = 1'),
    /the database of something else/,
  ],
  'a link': [
    (path) => {
      renameSync(path, `${path}.away`)
      symlinkSync(`${path}.away`, path)
    },
    /it is no file, but a folder or a link/,
  ],
}

for (const [what, [spoil, reason]] of Object.entries(UNUSABLE)) {
  test(`${what} in its place stops the start, which names the file`, async (t) => {
    const directory = await afterThree(t)
    spoil(pathIn(directory))
    await assert.rejects(published(t, directory), (error: Error) => {
      assert.ok(error.message.includes(pathIn(directory)), error.message)
      assert.match(error.message, reason)
      return true
    })
  })
}

test('a database that is gone is reported at once, and a start without it is refused', async (t) => {
  const directory = folder(t)
  const path = pathIn(directory)
  const { app, publications, stop } = await published(t, directory)
  await publish(publications, NAME, '1')
  const reasonOf = async () => JSON.stringify((await app.inject('/internal/readiness')).json())
  renameSync(path, `${path}.away`)

  const refused = { statusCode: 503, code: 'STORE_UNWRITABLE', message: /put it back before you restart/ }
  await assert.rejects(publish(publications, NAME, '2'), refused)
  writeFileSync(path, 'another')
  await assert.rejects(publish(publications, NAME, '2'), refused)
  await eventually(async () => /degraded.*put it back before you restart/.test(await reasonOf()))
  renameSync(`${path}.away`, path)
  await eventually(async () => !/degraded/.test(await reasonOf()))
  await publish(publications, NAME, '2')
  await stop()

  renameSync(path, `${path}.away`)
  for (const content of [undefined, '']) {
    assert.equal(existsSync(path), false, 'a refused start makes no file')
    if (content !== undefined) writeFileSync(path, content)
    await assert.rejects(published(t, directory), (error: Error) => {
      for (const said of [path, `${path}.created`, 'put it back', 'begin anew'])
        assert.ok(error.message.includes(said), error.message)
      return true
    })
  }
  renameSync(`${path}.away`, path)
  const again = await published(t, directory)
  assert.deepEqual(await versionsIn(again.publications), [`${NAME}@1`, `${NAME}@2`])
  await again.stop()
  rmSync(path)
  rmSync(`${path}.created`)
  assert.deepEqual(await versionsIn((await published(t, directory)).publications), [])
})

test('a change is never dated before the one before it, and a date in the future is logged', async (t) => {
  const directory = await afterThree(t)
  const at = '2999-01-01T00:00:00.000Z'
  changed(pathIn(directory), `update source set changed_at = '${at}'`)
  const { publications, lines } = await published(t, directory)
  assert.equal((await publish(publications, NAME, '5')).at, at)
  assert.equal(lines.filter(({ msg }) => /dated in the future/.test(String(msg))).length, 1)
})

test('the history of a name says who changed what, also after another start', async (t) => {
  const directory = await afterThree(t)
  const { publications, stop } = await published(t, directory)
  const gone = { status: 'deleted', statusMessage: 'x' } as const
  await publications.setStatus({ name: NAME }, gone, { provider: 'corp', subject: 'bob' })
  const history = await publications.history(NAME, 5)
  assert.deepEqual(
    history.map(({ version, versions = [{ version }], action, actor: { subject }, before, after }) => {
      const changed = versions.map((each) => each.version).join('+')
      return [changed, action, subject, before?.status, after.status].join(' ')
    }),
    [
      '1+2+3 status bob active deleted',
      '3 publish ann  active',
      '2 publish ann  active',
      '1 publish ann  active',
    ],
  )
  await stop()
  const again = await published(t, directory)
  assert.deepEqual(await again.publications.history(NAME, 5), history)
  const key = { name: NAME, version: '1' }
  assert.deepEqual(await again.publications.publisher(key), actor)
  assert.equal(await again.publications.publisher({ ...key, version: '9' }), undefined)
})
