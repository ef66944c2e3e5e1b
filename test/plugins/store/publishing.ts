import type { TestContext } from 'node:test'
import { definePlugin, type Entry, ManagedSource, type Publications, ServerCatalogue } from 'sallyport'
import { boot } from 'sallyport/embed'
import { contextFor, recordedLog } from '#kit/booted.js'
import { BASE, internalRoutes, registryOf, server } from '../registry/registry.js'

export const actor = { provider: 'corp', subject: 'ann' }
export const limits = { maxVersions: 1_000 }

/** What is published: a minimal document, or another text. */
export const versionOf = (name: string, version: string, text = JSON.stringify(server(name, version))) => ({
  ...{ name, version },
  server: Buffer.from(text),
})

export const publish = (publications: Publications, name: string, version: string) =>
  publications.publish(versionOf(name, version), actor, limits)

/** Every version that is read, as `name@version`. */
export async function versionsIn(publications: Publications, since?: string): Promise<readonly string[]> {
  const { payloads } = await publications.read(since, new AbortController().signal)
  const found: string[] = []
  for await (const payload of payloads) {
    const { name, version } = JSON.parse(Buffer.from(payload).toString()).server
    found.push(`${name}@${version}`)
  }
  return found
}

/** The list of a registry of what is published, over this store. */
export const publishedList = (store: Entry): Entry[] => [
  store,
  ...registryOf([{ use: 'source/managed', with: { name: 'published' } }], ['published'], {
    stateDirectory: undefined,
  }),
]

/** A registry of what is published, over this store. */
export async function publishing(t: TestContext, store: Entry) {
  let sources: () => readonly ManagedSource[] = () => []
  let catalogue: () => ServerCatalogue
  const user = definePlugin({
    name: 'user',
    api: 1,
    requires: [ServerCatalogue],
    setup(gateway) {
      sources = gateway.use(ManagedSource)
      catalogue = gateway.use(ServerCatalogue)
    },
  })
  const recorded = recordedLog()
  const running = await boot(
    [internalRoutes, ...publishedList(store), { use: 'internal/metrics' }, { use: user }],
    contextFor(recorded),
  )
  t.after(() => running.stop())
  await running.ready({})
  const [source] = sources()
  if (source === undefined) throw new Error('there is no managed source')
  const { app } = running
  return {
    app,
    publications: source.publications(),
    lines: recorded.lines,
    get catalogue() {
      return catalogue()
    },
    refresh: async () => catalogue().refresh?.('published'),
    metrics: () => app.inject('/internal/metrics'),
    stop: () => running.stop(),
    serves: async (name: string) =>
      (await app.inject(`${BASE}/${encodeURIComponent(name)}/versions/latest`)).statusCode === 200,
  }
}
