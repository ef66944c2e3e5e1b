import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { FetchResult } from 'sallyport'
import { contextFor, recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listen } from '#kit/plugin.js'
import { slowRoute } from '../../core/kernel/slow-route.js'
import { documentsIn } from '../store/catalogue-stores.js'
import { BASE, idsIn, one, payload, type RegistryOptions, registryOf, sourcePlugin, two } from './registry.js'

const never = (): Promise<FetchResult> => new Promise(() => {})

/** A registry whose source gives each result once, over reloads too. */
function scripted(...answers: (() => FetchResult | Promise<FetchResult>)[]) {
  return scriptedWith({}, ...answers)
}

function scriptedWith(options: RegistryOptions, ...answers: (() => FetchResult | Promise<FetchResult>)[]) {
  const seen: (string | undefined)[] = []
  const source = sourcePlugin('main', async ({ bookmark }) => {
    seen.push(bookmark)
    return (answers.shift() ?? never)()
  })
  return { list: [listen, ...registryOf([source], ['main'], options)], seen }
}

const whole = (bookmark: string, ...documents: unknown[]): FetchResult => ({
  kind: 'whole',
  payloads: [payload(documents)],
  bookmark: () => bookmark,
})

test('after a reload the contents in memory are served while the source does not answer', async (t) => {
  const { list, seen } = scripted(() => whole('first', one))
  const running = await serving(t, list)

  await running.swap(list, contextFor({}))

  const answer = await fetch(`${running.addresses.main}${BASE}`)
  assert.equal(answer.status, 200)
  assert.deepEqual(idsIn((await answer.json()) as never), ['a.example/one@1.0.0'])
  assert.deepEqual(seen, [undefined, 'first'])
})

test('a reload ends with the contents of a fast source already served', async (t) => {
  const { list } = scripted(
    () => whole('first', one),
    () => whole('second', one, two),
  )
  const running = await serving(t, list)

  await running.swap(list, contextFor({}))

  const answer = await fetch(`${running.addresses.main}${BASE}`)
  assert.deepEqual(idsIn((await answer.json()) as never), ['a.example/one@1.0.0', 'a.example/two@1.0.0'])
})

test('after a reload a source with refused documents is read as a whole', async (t) => {
  const broken = { name: 'a.example/broken' }
  const { list, seen } = scripted(() => whole('first', one, broken))
  const running = await serving(t, list)

  await running.swap(list, contextFor({}))

  assert.deepEqual(seen, [undefined, undefined])
})

test('after a reload the catalogue saves unsaved contents, though the source has not changed', async (t) => {
  const stateDirectory = join(folder(t), 'state')
  writeFileSync(stateDirectory, 'in the way')
  const { list } = scriptedWith(
    { stateDirectory },
    () => whole('first', one),
    () => ({ kind: 'unchanged' }),
  )
  const running = await serving(t, list)
  rmSync(stateDirectory)
  mkdirSync(stateDirectory)

  await running.swap(list, contextFor({}))

  await eventually(() => documentsIn(stateDirectory).length > 0)
})

test('a list that was replaced reads no source while a request of it lasts', async (t) => {
  const { entry, arrival, finish } = slowRoute()
  let reads = 0
  const source = sourcePlugin(
    'main',
    async () => {
      reads++
      return whole('only', one)
    },
    5,
  )
  const { log, lines } = recordedLog()
  const list = [listen, ...registryOf([source], ['main']), entry]
  const running = await serving(t, list, { drainLimit: 20, log })
  const call = fetch(`${running.addresses.main}/slow`)
  await arrival
  await eventually(() => reads > 2)

  await running.swap([listen, ...registryOf([sourcePlugin('main', never)], ['main'])])
  await eventually(() => lines.some(({ msg }) => /go on with the old configuration/.test(String(msg))))
  const after = reads
  // As long as five reads took.
  await pause(100)
  assert.equal(reads, after)
  finish('done')
  assert.equal(await (await call).text(), 'done')
})
