import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError, type FetchResult } from 'sallyport'
import { booted } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { noDisk, smallDisk } from '#kit/small-disk.js'
import { BASE, payload, registryOf, server, sourcePlugin } from '../registry/registry.js'
import { documentsIn } from './catalogue-stores.js'
import { actor, limits, publish, publishing, versionOf, versionsIn } from './publishing.js'

const NAME = 'a.example/one'
const entry = (directory: string) => ({ use: 'store/sqlite', with: { directory } })

test('on a full disk nothing is half stored, and it goes on once there is room', {
  skip: noDisk ?? false,
}, async (t) => {
  const { mountPoint, faults } = smallDisk(t, '1m')
  const { app, publications, stop } = await publishing(t, entry(mountPoint))
  await publish(publications, NAME, '1')
  const health = async () => (await app.inject('/internal/readiness')).body

  faults.full.begin()
  const large = JSON.stringify({ name: NAME, version: '2', description: 'x'.repeat(900_000) })
  await assert.rejects(publications.publish(versionOf(NAME, '2', large), actor, limits), {
    statusCode: 503,
    code: 'STORE_UNWRITABLE',
    message: /the disk is full/,
  })
  assert.match(await health(), /degraded.*the disk is full/)
  assert.deepEqual(await versionsIn(publications), [`${NAME}@1`])

  faults.full.end()
  await eventually(async () => !/degraded/.test(await health()))
  await publish(publications, NAME, '2')
  await stop()
  const again = await publishing(t, entry(mountPoint))
  assert.deepEqual(await versionsIn(again.publications), [`${NAME}@1`, `${NAME}@2`])
  await again.stop()
})

test('a full disk stops the start with the exit code for a retry, not for a wrong configuration', {
  skip: noDisk ?? false,
}, async (t) => {
  const { mountPoint, faults } = smallDisk(t)
  faults.full.begin()
  const path = join(mountPoint, 'published.sqlite')
  await assert.rejects(publishing(t, entry(mountPoint)), (error) => {
    assert.ok(error instanceof Error && !(error instanceof ConfigError), String(error))
    assert.ok(error.message.includes(`${path}: the disk is full`), error.message)
    return true
  })
  faults.full.end()
  const again = await publishing(t, entry(mountPoint))
  assert.deepEqual(await versionsIn(again.publications), [])
  await again.stop()
})

test('the state of a source that a full disk refused is saved once there is room, also without another change', {
  skip: noDisk ?? false,
}, async (t) => {
  const { mountPoint, faults } = smallDisk(t)
  const fetch = async (): Promise<FetchResult> => ({
    kind: 'whole',
    payloads: [payload([server(NAME, '1.0.0')])],
  })
  faults.full.begin()
  const list = [entry(mountPoint), ...registryOf([sourcePlugin('main', fetch)], ['main'])]
  const app = await booted(t, list)
  assert.equal((await app.inject(BASE)).json().metadata.count, 1)
  assert.deepEqual(documentsIn(mountPoint), [])
  faults.full.end()
  await eventually(() => documentsIn(mountPoint).length === 1, 30)
})
