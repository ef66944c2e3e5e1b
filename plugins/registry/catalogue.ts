import { setMaxListeners } from 'node:events'
import {
  CatalogueStore,
  ConfigError,
  definePlugin,
  type Gateway,
  Health,
  Refusal,
  ServerCatalogue,
  Source,
} from 'sallyport'
import { duration, LONGEST_WAIT, nearest, Sequence, waitAtMost } from 'sallyport/toolkit'
import { z } from 'zod'
import { Ingest } from './ingest.js'
import { Snapshot } from './snapshot.js'
import { SourceReplica } from './source-replica.js'
import { type LastSync, SourceSync } from './source-sync.js'
import { type SyncMeter, syncFailure, syncMeter } from './sync-report.js'
import { TimeSlice } from './time-slice.js'

const NAME = /^[\w.~-]{1,64}$/

const options = z.strictObject({
  registries: z
    .array(
      z.strictObject({
        name: z
          .string()
          .regex(NAME, 'expected letters, digits, ".", "_", "~", "-"')
          .describe('its part of the path'),
        sources: z
          .array(z.string())
          .describe('names of sources; the first that has a server gives all its versions'),
      }),
    )
    .min(1)
    .describe('what is served'),
  syncTimeout: duration(LONGEST_WAIT).prefault('5m').describe('the longest that one sync may take'),
  maxDocumentBytes: z
    .int()
    .positive()
    .default(256 * 1024)
    .describe('the most bytes that one server document may have'),
})

export default definePlugin({
  name: 'registry/catalogue',
  api: 1,
  summary:
    'Reads the sources, each on its own schedule, and keeps in memory what the registries serve; `POST /sync/{source}` on the internal port reads one at once.',
  provides: [ServerCatalogue, Health],
  omits: ({ registries }) => (registries.every(({ sources }) => sources.length === 0) ? [Health] : []),
  options,

  setup(gateway, given) {
    const sources = gateway.use(Source)
    const stores = gateway.use(CatalogueStore)
    const catalogue = new MemoryCatalogue(gateway, given)
    gateway.provide(ServerCatalogue, catalogue)
    for (const name of catalogue.sourceNames) {
      gateway.provide(Health, { name: `source ${name}`, check: () => catalogue.health(name) })
    }
    syncTrigger(gateway.internal, (name) => catalogue.replicaOf(name))
    gateway.onStart(() => catalogue.start(sources(), stores().at(-1)))
    // The next list of plugins reads the sources only after this one has given up the lead.
    gateway.onReplaced(() => catalogue.stop())
    gateway.onStop(() => catalogue.stop())
  },

  facts: (_place, { maxDocumentBytes }) => ({
    async readDocuments(fetched, signal) {
      const ingest = new Ingest(maxDocumentBytes)
      try {
        return await ingest.count(fetched, signal)
      } finally {
        await ingest.close()
      }
    },
  }),
})

type Options = z.output<typeof options>

// Milliseconds that a start waits for the first syncs: enough to read the sources on this machine.
const START_WAIT = 2_000

class MemoryCatalogue implements ServerCatalogue {
  readonly names: readonly string[]
  readonly sourceNames: readonly string[]
  readonly maxDocumentBytes: number
  private readonly snapshots = new Map<string, Snapshot>()
  private readonly replicas = new Map<string, SourceReplica>()
  private readonly stopping = new AbortController()
  private readonly meter: SyncMeter
  private readonly ingest: Ingest
  private readonly publishing = new Sequence()
  private stopped: Promise<void> | undefined

  constructor(
    private readonly gateway: Gateway,
    private readonly options: Options,
  ) {
    // Each source adds several listeners, and Node warns of a leak from eleven on.
    setMaxListeners(0, this.stopping.signal)
    this.names = options.registries.map(({ name }) => name)
    this.sourceNames = [...new Set(options.registries.flatMap(({ sources }) => sources))]
    this.meter = syncMeter(gateway.meter)
    this.maxDocumentBytes = options.maxDocumentBytes
    this.ingest = new Ingest(options.maxDocumentBytes)
  }

  registry(name: string): Snapshot | 'loading' | undefined {
    return this.snapshots.get(name) ?? (this.names.includes(name) ? 'loading' : undefined)
  }

  sourcesOf(registry: string): readonly string[] {
    return this.options.registries.find(({ name }) => name === registry)?.sources ?? []
  }

  async refresh(source: string): Promise<void> {
    const replica = this.replicas.get(source)
    if (replica === undefined) throw new TypeError(`no registry lists a source named "${source}"`)
    const result = await replica.request()
    if (result.outcome === 'failed') throw syncFailure(result)
    if (result.outcome === 'requested')
      throw new TypeError(
        `another process reads the source "${source}"; this process serves the result later`,
      )
  }

  replicaOf(name: string): SourceReplica | undefined {
    return this.replicas.get(name)
  }

  health(source: string) {
    return this.replicas.get(source)?.sync.health ?? { status: 'down' as const, reason: 'not read yet' }
  }

  async start(sources: readonly Source[], store: CatalogueStore | undefined): Promise<void> {
    checkNames(sources, this.options)
    if (this.sourceNames.length > 0) this.ingest.start()
    for (const source of sources) {
      if (this.sourceNames.includes(source.name))
        this.replicas.set(source.name, this.replicaFor(source, store))
      else this.gateway.log.warn({ source: source.name }, 'no registry lists this source, so it is not read')
    }
    const first = Promise.all([...this.replicas.values()].map((replica) => replica.start()))
    if (this.replicas.size === 0) {
      this.gateway.log.warn('there is no source, so every registry is empty')
      await this.publish()
    }
    // A source that fails ends the start; a slow source does not delay it.
    await Promise.race([first, waitAtMost(START_WAIT, first)])
  }

  stop(): Promise<void> {
    this.stopped ??= this.end()
    return this.stopped
  }

  private async end(): Promise<void> {
    this.stopping.abort(new Error('the gateway is stopping'))
    await Promise.all([...this.replicas.values()].map((replica) => replica.stop()))
    await Promise.all([this.publishing.idle, this.ingest.close()])
  }

  private replicaFor(source: Source, stores: CatalogueStore | undefined): SourceReplica {
    const { name, location } = source
    const store = source.stored === true ? undefined : stores?.open({ name, location })
    const isShared = store?.shared !== undefined
    const { maxDocumentBytes, syncTimeout: timeout } = this.options
    const key = JSON.stringify([name, location, maxDocumentBytes, isShared])
    const last = this.gateway.share(key, (): LastSync => ({}))
    const { meter, ingest, gateway } = this
    const shared = { log: gateway.log, meter, ingest, timeout }
    const publish = (): Promise<void> => this.publish()
    const { signal } = this.stopping
    const sync = new SourceSync(source, { ...shared, store, last, publish }, signal)
    return new SourceReplica(sync, store?.shared, signal)
  }

  /** Makes one snapshot at a time, so that an older snapshot never replaces a newer one. */
  private publish(): Promise<void> {
    return this.publishing.run(() => this.makeSnapshots())
  }

  private async makeSnapshots(): Promise<void> {
    for (const { name, sources } of this.options.registries) {
      const syncs = sources.flatMap((source) => this.replicas.get(source)?.sync ?? [])
      if (syncs.length < sources.length || syncs.some(({ loaded }) => !loaded)) continue
      const contents = syncs.map(({ contents: each, source }) => ({ ...each, source: source.name }))
      const snapshot = await Snapshot.of(name, contents, new TimeSlice(this.stopping.signal))
      this.snapshots.set(name, snapshot)
      this.meter.serving(name, snapshot.size)
    }
  }
}

function checkNames(sources: readonly Source[], { registries }: Options): void {
  const names = sources.map(({ name }) => name)
  const problems = registries.flatMap(({ name: registry, sources: wanted }) =>
    wanted
      .filter((name) => !names.includes(name))
      .map((name) => ({
        place: `registry "${registry}"`,
        message: `no source is called "${name}"`,
        suggestion: nearest(name, names),
      })),
  )
  const repeated = names.filter((name, index) => names.indexOf(name) < index)
  const twice = repeated.map((name) => ({ place: `source "${name}"`, message: 'two sources have this name' }))
  if (problems.length + twice.length > 0) throw new ConfigError([...problems, ...twice])
}

const syncParams = z.object({ source: z.string() })

/**
 * `POST /sync/{source}`: reads a source now. It responds when the result is served, or when the leader has the
 * request.
 */
function syncTrigger(
  internal: Gateway['internal'],
  replicaOf: (name: string) => SourceReplica | undefined,
): void {
  internal.post('/sync/:source', async (request, reply) => {
    // A web page in a browser on this machine can send a POST here, but not without `Origin`.
    if (request.headers.origin !== undefined) {
      throw new Refusal(403, 'ORIGIN_FORBIDDEN', 'a web page may not request a sync')
    }
    const { source } = syncParams.parse(request.params)
    const replica = replicaOf(source)
    if (replica === undefined) return reply.callNotFound()
    const result = await replica.request()
    if (result.outcome === 'requested') reply.code(202)
    if (result.outcome !== 'failed') return { source, ...result }
    throw syncFailure(result)
  })
}
