import { setTimeout } from 'node:timers/promises'
import { definePlugin, ManagedSource, StateStore } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { boot, createLog } from 'sallyport/embed'
import { BASE } from '../registry/registry.js'
import { actor, publishedList, versionOf } from './publishing.js'

// A registry that publishes and keeps state as fast as it can, and prints how long its other requests take.
const [directory = ''] = process.argv.slice(2)

let sources: () => readonly ManagedSource[] = () => []
let state: () => StateStore
const user = definePlugin({
  name: 'user',
  api: 1,
  requires: [ManagedSource, StateStore],
  setup(gateway) {
    sources = gateway.use(ManagedSource)
    state = gateway.use(StateStore)
  },
})
const list = [
  { use: 'state/sqlite', with: { directory, keptKey: false } },
  ...publishedList({ use: 'store/sqlite', with: { directory } }),
  { use: user },
]
const running = await boot(list, { catalogue, folder: directory, log: createLog({ level: 'silent' }) })
await running.ready({})
const publications = sources()[0]?.publications()
if (publications === undefined) throw new Error('there is no managed source')

let isOver = false
let commits = 0
const looping = async (work: (round: number) => Promise<unknown>): Promise<void> => {
  for (let round = 0; !isOver; round++) {
    await work(round)
    commits++
  }
}
const writing = [0, 1, 2, 3].flatMap((writer) => [
  looping((round) =>
    publications.publish(versionOf(`a.example/w${writer}`, `${round}.0.0`), actor, { maxVersions: 1e6 }),
  ),
  looping((round) => state().locked(`k${writer}`, () => state().set(`k${writer}`, `${round}`))),
])

const took: number[] = []
for (let round = -100; round < 500; round++) {
  await setTimeout(5)
  // The code is cold at first.
  if (round === 0) took.length = 0
  const began = performance.now()
  await running.app.inject(BASE)
  took.push(performance.now() - began)
}
isOver = true
await Promise.all(writing)
await running.stop()
took.sort((one, other) => one - other)
process.stdout.write(JSON.stringify({ p99: took[Math.floor(took.length * 0.99)], max: took.at(-1), commits }))
