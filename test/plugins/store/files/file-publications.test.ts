import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { folder } from '#kit/folder.js'
import { actor, publish, publishing, versionsIn } from '../publishing.js'

const NAME = 'a.example/one'

const published = (t: TestContext, directory = folder(t)) =>
  publishing(t, { use: 'store/files', with: { directory } })

test('who has read what is not in this journal, such as that of a backup, reads all of it', async (t) => {
  const { publications } = await published(t)
  await publish(publications, NAME, '1')
  await publish(publications, NAME, '2')
  const { signal } = new AbortController()

  for (const since of ['3', '-1', '0.5', 'x', 'Infinity']) {
    const { kind } = await publications.read(since, signal)
    assert.equal(kind, 'whole', since)
    assert.deepEqual(await versionsIn(publications, since), [`${NAME}@1`, `${NAME}@2`], since)
  }
  assert.equal((await publications.read('2', signal)).kind, 'unchanged')
  assert.deepEqual(await versionsIn(publications, '1'), [`${NAME}@2`])
})

test('a reading that is ended reads no further', async (t) => {
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

test('one function may watch twice, and is told of what was stored alone', async (t) => {
  const { publications } = await published(t)
  await publish(publications, NAME, '1')
  let told = 0
  const watcher = (): void => void told++
  const end = publications.watch(watcher)
  publications.watch(watcher)

  await publications.setStatus({ name: NAME }, { status: 'active' }, actor)
  assert.equal(told, 0)
  await publish(publications, NAME, '2')
  assert.equal(told, 2)
  end()
  await publish(publications, NAME, '3')
  assert.equal(told, 3)
})

test('of several who publish a version in one turn the first does', async (t) => {
  const { publications } = await published(t)
  const results = await Promise.allSettled([1, 2, 3].map(() => publish(publications, NAME, '1')))

  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected'],
  )
})

test('what is under way at a stop is stored, and nothing after it', async (t) => {
  const directory = folder(t)
  const { publications, stop } = await published(t, directory)
  const last = publish(publications, NAME, '1')
  await Promise.all([last, stop()])
  await assert.rejects(async () => publish(publications, NAME, '2'), {
    code: 'JOURNAL_UNWRITABLE',
    message: /the gateway is stopping/,
  })

  const again = await published(t, directory)
  assert.deepEqual(await versionsIn(again.publications), [`${NAME}@1`])
})
