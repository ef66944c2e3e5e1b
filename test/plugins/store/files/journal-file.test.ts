import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { noDisk, smallDisk } from '#kit/small-disk.js'
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
})
