import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type PublicationEvent, PublicationStore } from 'sallyport'
import { MemoryPublications } from '#kit/memory-publications.js'
import { providing } from '#kit/plugin.js'
import { document, publishing } from '../publishing.js'
import { OFFICIAL } from '../registry.js'

const NAME = 'com.example/search'
const SERVER = '/servers/com.example%2Fsearch'
const MAY_ALL = [{ when: { sub: ['somebody', 'another'] }, names: ['*'], may: ['publish', 'edit', 'purge'] }]

/** A registry over publications in memory. */
async function inMemory(t: TestContext, options: object = {}, publications = new MemoryPublications()) {
  const store = providing('store/memory', PublicationStore, { open: () => publications })
  return { ...(await publishing(t, { store, publishers: MAY_ALL, options })), publications }
}

const size = (body: object): number => JSON.stringify(body).length

test('a publisher is identified by the issuer of the token, whatever the name of the provider', async (t) => {
  const { publish, send, issuer, publications } = await inMemory(t)
  await publish(document())
  await send('PATCH', `${SERVER}/status`, { status: 'deprecated' })

  const actor = { provider: 'corp', subject: 'somebody', issuer: issuer.url }
  const { provider } = (await publications.publisher({ name: NAME, version: '1.0.0' })) ?? assert.fail()
  assert.deepEqual(
    (await publications.history(NAME, 10)).map((event) => event.actor),
    Array(2).fill({ ...actor, provider }),
  )
})

test('a write that another write has overtaken returns the version with the later change', async (t) => {
  const later = new (class extends MemoryPublications {
    override async publish(...given: Parameters<MemoryPublications['publish']>) {
      const event = await super.publish(...given)
      await this.setStatus({ name: NAME }, { status: 'deprecated' }, given[1])
      return event
    }
    overtakes = false
    override async setStatus(...given: Parameters<MemoryPublications['setStatus']>) {
      const events = await super.setStatus(...given)
      if (this.overtakes) await super.setStatus({ name: NAME }, { status: 'active' }, given[2])
      return events
    }
  })()
  const { publish, send } = await inMemory(t, {}, later)
  const published = await publish(document('1.0.0'))
  assert.deepEqual([published.statusCode, published.json()._meta[OFFICIAL].status], [200, 'deprecated'])
  assert.equal((await publish(document('2.0.0'))).statusCode, 200)

  later.overtakes = true
  const deleted = await send('DELETE', `${SERVER}/versions/1.0.0`)
  assert.deepEqual([deleted.statusCode, deleted.json()._meta[OFFICIAL].status], [200, 'active'])
  const all = await send('PATCH', `${SERVER}/status`, { status: 'deleted' })
  assert.deepEqual([all.statusCode, all.json().updatedCount], [200, 2])
})

test('a change of all versions is one event, and counts among the writes of its caller as often as it changes one', async (t) => {
  const { publish, send, publications } = await inMemory(t, { publishRate: '100/1h' })
  for (let index = 0; index < 60; index++)
    assert.equal((await publish(document(`1.0.${index}`))).statusCode, 200)
  const setAll = (status: string) => send('PATCH', `${SERVER}/status`, { status })

  const first = await setAll('deprecated')
  assert.deepEqual([first.statusCode, first.json().updatedCount], [200, 60])
  const second = await setAll('active')
  assert.deepEqual([second.statusCode, second.json().error], [429, 'too_many_publications'])
  // 60 publications and 60 changes of 100 an hour: 20 too many, and room for one more.
  assert.equal(Math.round(Number(second.headers['retry-after']) / 60), 13)
  const history = await publications.history(NAME, 1_000)
  assert.equal(history.length, 61)
  assert.equal(history[0]?.versions?.length, 60)
})

test('a publisher cannot exceed its own limit, nor all publishers that of the source, and the response says which', async (t) => {
  const one = document('1.0.0')
  const limits = { maxBytesEach: 2 * size(one), maxBytes: 3 * size(one) }
  const { publish, send, issuer } = await inMemory(t, limits)
  const authorization = `Bearer ${await issuer.jwt({ sub: 'another' })}`
  const codes = async (version: string, headers = {}) => {
    const response = await publish(document(version), headers)
    return [response.statusCode, response.json().error]
  }

  assert.equal((await publish(one)).statusCode, 200)
  assert.equal((await publish(document('2.0.0'))).statusCode, 200)
  assert.deepEqual(await codes('3.0.0'), [409, 'publisher_full'])
  await send('PATCH', `${SERVER}/status`, { status: 'deleted' })
  assert.deepEqual(await codes('3.0.0'), [409, 'publisher_full'], 'deleting frees nothing')
  assert.equal((await publish(document('3.0.0'), { authorization })).statusCode, 200)
  assert.deepEqual(await codes('4.0.0', { authorization }), [409, 'source_full'])
})

test('a purge frees the space of deleted versions, and no caller can publish them again', async (t) => {
  const one = document('1.0.0')
  const { publish, send, get, events, publications } = await inMemory(t, { maxBytesEach: 2 * size(one) })
  await publish(one)
  await publish(document('2.0.0'))
  const purge = () => send('POST', `${SERVER}/purge`)
  assert.deepEqual((await purge()).json(), { purgedCount: 0, purgedBytes: 0 })
  await send('DELETE', `${SERVER}/versions/1.0.0`)

  const purged = await purge()
  assert.deepEqual([purged.statusCode, purged.json()], [200, { purgedCount: 1, purgedBytes: size(one) }])
  assert.equal((await get(NAME, '1.0.0', '?include_deleted=true')).statusCode, 404)
  assert.equal((await get(NAME, '2.0.0')).statusCode, 200)
  assert.equal((await publish(one)).json().error, 'version_exists')
  assert.equal((await publish(document('3.0.0'))).statusCode, 200)
  const { server } = events.find(({ server: each }) => each?.action === 'purge') ?? {}
  assert.deepEqual([server?.name, server?.count, server?.versions?.[0]?.version], [NAME, 1, '1.0.0'])
  assert.equal(
    (await publications.history(NAME, 10)).some(({ action }) => action === 'purge'),
    true,
  )
  assert.equal((await send('POST', '/servers/com.example%2Fnone/purge')).json().error, 'version_unknown')
})

test('only a caller with the right to purge can, and only when the store supports it', async (t) => {
  const publications = new MemoryPublications()
  const store = providing('store/memory', PublicationStore, { open: () => publications })
  const editor = await publishing(t, { store })
  await editor.publish(document())
  const refused = await editor.send('POST', `${SERVER}/purge`)
  assert.deepEqual([refused.statusCode, refused.json().error], [403, 'publish_forbidden'])

  Object.defineProperty(publications, 'purge', { value: undefined })
  const { send } = await inMemory(t, {}, publications)
  const unsupported = await send('POST', `${SERVER}/purge`)
  assert.deepEqual([unsupported.statusCode, unsupported.json().error], [501, 'purge_unsupported'])
})

test('the store bounds the history of a name by the limit that it receives', async (t) => {
  const told: unknown[] = []
  const asked = new (class extends MemoryPublications {
    override async setStatus(
      ...given: Parameters<MemoryPublications['setStatus']>
    ): Promise<PublicationEvent[]> {
      told.push(given[3])
      return super.setStatus(...given)
    }
  })()
  const { publish, send } = await inMemory(t, {}, asked)
  await publish(document())
  await send('PATCH', `${SERVER}/status`, { status: 'deprecated' })
  assert.deepEqual(told, [
    { maxVersions: 10_000, maxEvents: 20_000, maxBytes: 2 ** 29, maxBytesOfActor: 2 ** 27 },
  ])
})
