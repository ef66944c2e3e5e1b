import { readFileSync, writeFileSync, writeSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { definePlugin, StateStore } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { boot, createLog } from 'sallyport/embed'

// Another process with the same store: it saves again and again under a lock, holds a lock, or counts under one: in a file, or the store.
const [entry = '', task = '', counter = ''] = process.argv.slice(2)

let store: StateStore | undefined
const taking = definePlugin({
  name: 'taking',
  api: 1,
  requires: [StateStore],
  setup(gateway) {
    const use = gateway.use(StateStore)
    gateway.onStart(() => {
      store = use()
    })
  },
})
const list = [JSON.parse(entry), { use: taking }]
await boot(list, { catalogue, folder: process.cwd(), log: createLog({ level: 'silent' }) })
if (store === undefined) throw new Error('there is no store')

const taken = store

if (task === 'saves') {
  for (let number = Number(counter) + 1; ; number++) {
    await taken.locked('key', () => taken.set('value', `${'x'.repeat(20_000)}${number}`))
    writeSync(1, `${number}\n`)
  }
} else if (task === 'hold') {
  await taken.locked('key', async () => {
    process.stdout.write('begun\n')
    await setTimeout(60_000)
  })
} else if (task === 'add') {
  for (let round = 0; round < 10; round++)
    await taken.locked('key', async () => taken.set('key', String(Number((await taken.get('key')) ?? 0) + 1)))
  process.exit(0)
} else {
  for (let round = 0; round < 5; round++) {
    await taken.locked('key', async () => {
      // Not atomic on purpose: only the lock keeps the others out in between.
      const before = Number(readFileSync(counter, 'utf8'))
      await setTimeout(Math.random() * 4)
      writeFileSync(counter, String(before + 1))
    })
  }
  process.exit(0)
}
