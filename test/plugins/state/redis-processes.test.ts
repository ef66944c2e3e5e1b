import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { noRedis, testRedis } from '#kit/redis.js'
import { storing } from './storing.js'

const skip = noRedis ?? false

/** Takes the lock, says so, and never ends by itself; with `count`, counts to that under the lock. */
const CHILD = `
import { boot, createLog } from 'sallyport/embed'
import { catalogue } from 'sallyport/builtin'
import { definePlugin, StateStore } from 'sallyport'
const [url, count] = process.argv.slice(1)
let store
const use = definePlugin({
  name: 'taking', api: 1, requires: [StateStore],
  setup(gateway) { const given = gateway.use(StateStore); gateway.onStart(() => { store = given() }) },
})
const list = [{ use: 'state/redis', with: { url, passphrase: 'open sesame' } }, { use }]
const running = await boot(list, { catalogue, folder: '.', log: createLog({ level: 'silent' }) })
if (count === undefined) await store.locked('a', () => { console.log('locked'); return new Promise(() => setInterval(() => {}, 1000)) })
for (let done = 0; done < Number(count); done++)
  await store.locked('a', async () => store.set('a', String(Number(await store.get('a') ?? 0) + 1)))
await running.stop()
`

function child(t: TestContext, ...argv: readonly string[]): ChildProcess {
  const options = ['--input-type=module', '--eval', CHILD]
  const started = spawn(process.execPath, [...options, ...argv], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => started.kill('SIGKILL'))
  return started
}

test('three processes write under one lock, and the lock of a killed one is free after a while', {
  skip,
}, async (t) => {
  const { url } = await testRedis(t)
  const { store } = await storing(t, [{ use: 'state/redis', with: { url, passphrase: 'open sesame' } }])
  const counting = Array.from({ length: 3 }, () => child(t, url, '10'))
  const codes = await Promise.all(counting.map(async (each) => (await once(each, 'exit'))[0]))
  assert.deepEqual([codes, await store.get('a')], [[0, 0, 0], '30'])

  const holder = child(t, url)
  assert.ok(holder.stdout)
  await once(holder.stdout, 'data')
  holder.kill('SIGKILL')

  await store.locked('a', () => store.set('a', 'taken over'))
  assert.equal(await store.get('a'), 'taken over')
})
