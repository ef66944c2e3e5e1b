import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { definePlugin, StateStore } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { boot, createLog } from 'sallyport/embed'

// Another process with the same store: it saves once under a lock, holds a lock, or counts under one.
const [place = '', task = '', counter = ''] = process.argv.slice(2)

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
const entry = place.startsWith('{') ? JSON.parse(place) : { use: 'state/files', with: { directory: place } }
const list = [entry, { use: taking }]
await boot(list, { catalogue, folder: process.cwd(), log: createLog({ level: 'silent' }) })
if (store === undefined) throw new Error('there is no store')

if (task === 'save') {
  const saving = store
  await saving.locked('key', () => saving.set('value', 'new'.repeat(5000)))
  process.exit(0)
} else if (task === 'hold') {
  await store.locked('key', async () => {
    process.stdout.write('begun\n')
    await setTimeout(60_000)
  })
} else {
  for (let round = 0; round < 5; round++) {
    await store.locked('key', async () => {
      // Not atomic on purpose: only the lock keeps the others out in between.
      const before = Number(readFileSync(counter, 'utf8'))
      await setTimeout(Math.random() * 4)
      writeFileSync(counter, String(before + 1))
    })
  }
  process.exit(0)
}
