import { writeSync } from 'node:fs'
import { definePlugin, PublicationStore, type Publications } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { boot, createLog } from 'sallyport/embed'
import { actor, limits, versionOf } from './publishing.js'

// A process that publishes as fast as it can, and prints each version that was answered.
const [entry = '', round = ''] = process.argv.slice(2)

let publications: Publications | undefined
const taking = definePlugin({
  name: 'taking',
  api: 1,
  requires: [PublicationStore],
  setup(gateway) {
    const use = gateway.use(PublicationStore)
    gateway.onStart(async () => {
      publications = await use()[0]?.open('published')
    })
  },
})
await boot([JSON.parse(entry), { use: taking }], {
  catalogue,
  folder: process.cwd(),
  log: createLog({ level: 'silent' }),
})

async function publishAll(opened: Publications, writer: number): Promise<void> {
  for (let number = 0; ; number++) {
    const version = `${round}.${number}.0`
    await opened.publish(versionOf(`a.example/w${writer}`, version), actor, { ...limits, maxVersions: 1e6 })
    writeSync(1, `a.example/w${writer}@${version}\n`)
  }
}

const opened = publications
if (opened === undefined) throw new Error('there is no store')
await Promise.all([0, 1, 2, 3].map((writer) => publishAll(opened, writer)))
