import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, definePlugin, type List } from 'sallyport'
import { boot, LogScrubber } from 'sallyport/embed'
import { z } from 'zod'
import { recordedLog } from '#kit/booted.js'
import { plugin } from '#kit/plugin.js'

const wrong = (name: string, place: string) =>
  definePlugin({
    name,
    api: 1,
    options: z.strictObject({ file: z.string().optional() }),
    setup() {
      throw new ConfigError([{ place, message: 'cannot be read' }])
    },
  })

test('problems found in setup are reported for all plugins, each at the place where its option was written', async () => {
  const ends: string[] = []
  const last = plugin('last', (gateway) => gateway.onStop(() => void ends.push('stopped')))
  const list: List = [
    { use: wrong('one', 'file') },
    { use: wrong('two', 'file'), origin: { file: ['sources', 3, 'path'] } },
    { scope: '/inner', plugins: [{ use: wrong('three', 'the disk') }] },
    { use: wrong('four', 'the disk'), origin: { '': ['sources', 4] }, named: ['sources', 4] },
    { use: wrong('five', 'the disk'), named: ['plugins', 4, 'use'] },
    last,
  ]
  const { log } = recordedLog()
  const context = { catalogue: {}, folder: '/', log, scrubber: new LogScrubber() }
  const placesOf = async (locate?: (path: readonly (string | number)[]) => string) => {
    const booting = boot(list, { ...context, ...(locate !== undefined && { locate }) })
    const error: unknown = await booting.catch((reason: unknown) => reason)
    assert.ok(error instanceof ConfigError)
    return error.problems.map(({ place }) => place)
  }
  assert.deepEqual(await placesOf((path) => `a.yaml ${path.join('/')}`), [
    'a.yaml plugins/0/with/file (one)',
    'a.yaml sources/3/path (two)',
    'plugin "/inner three": the disk',
    'a.yaml sources/4 (four)',
    'plugin "five": the disk',
  ])
  assert.deepEqual(await placesOf(), [
    'plugin "one": file',
    'plugin "two": file',
    'plugin "/inner three": the disk',
    'plugin "four": the disk',
    'plugin "five": the disk',
  ])
  assert.deepEqual(ends, ['stopped', 'stopped'])
})
