import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import {
  ConfigError,
  definePlugin,
  duration,
  type Gateway,
  Health,
  LONGEST_WAIT,
  nearest,
  ServerCatalogue,
  Source,
} from 'sallyport'
import { z } from 'zod'
import { Breath } from './breath.js'
import { Gatherer } from './gatherer.js'
import { Layers } from './layers.js'
import { Schedule } from './schedule.js'
import { Snapshot } from './snapshot.js'
import { type LastRead, SourceSync } from './source-sync.js'
import { StateFile } from './state-file.js'
import { type SyncMeter, syncMeter } from './sync-meter.js'
import { syncTrigger } from './sync-trigger.js'

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
  stateDirectory: z
    .string()
    .nullable()
    .optional()
    .describe(
      'where the last good state of each source is kept; the user’s state directory when unset, null keeps none',
    ),
  syncTimeout: duration(LONGEST_WAIT).default(300_000).describe('the longest that one sync may take'),
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
    'Reads the sources, each on its own schedule, and holds what the registries serve in memory; `POST /sync/{source}` on the internal port reads one at once.',
  provides: [ServerCatalogue, Health],
  options,

  setup(gateway, given) {
    const sources = gateway.use(Source)
    const catalogue = new MemoryCatalogue(gateway, given)
    gateway.provide(ServerCatalogue, catalogue)
    for (const name of catalogue.sourceNames) {
      gateway.provide(Health, { name: `source ${name}`, check: () => catalogue.health(name) })
    }
    syncTrigger(gateway.internal, (name) => catalogue.syncOf(name))
    gateway.onStart(() => catalogue.start(sources()))
    gateway.onStop(() => catalogue.stop())
  },
})

type Options = z.output<typeof options>

// Sources of this machine are read by then, so the doors open with something behind them.
const PATIENCE = 2_000

class MemoryCatalogue implements ServerCatalogue {
  readonly names: readonly string[]
  readonly sourceNames: readonly string[]
  readonly #snapshots = new Map<string, Snapshot>()
  readonly #syncs = new Map<string, SourceSync>()
  readonly #ending = new AbortController()
  readonly #meter: SyncMeter
  readonly #gatherer: Gatherer
  #schedules: readonly Schedule[] = []
  #published: Promise<void> = Promise.resolve()

  constructor(
    private readonly gateway: Gateway,
    private readonly options: Options,
  ) {
    this.names = options.registries.map(({ name }) => name)
    this.sourceNames = [...new Set(options.registries.flatMap(({ sources }) => sources))]
    this.#meter = syncMeter(gateway.meter)
    this.#gatherer = new Gatherer(options.maxDocumentBytes)
  }

  registry(name: string): Snapshot | 'loading' | undefined {
    return this.#snapshots.get(name) ?? (this.names.includes(name) ? 'loading' : undefined)
  }

  syncOf(name: string): SourceSync | undefined {
    return this.#syncs.get(name)
  }

  health(source: string) {
    return this.#syncs.get(source)?.health ?? { status: 'down' as const, reason: 'not read yet' }
  }

  async start(sources: readonly Source[]): Promise<void> {
    refuseWrongNames(sources, this.options)
    const { signal } = this.#ending
    for (const source of sources) {
      if (this.sourceNames.includes(source.name)) this.#syncs.set(source.name, this.syncFor(source))
      else this.gateway.log.warn({ source: source.name }, 'no registry lists this source, so it is not read')
    }
    this.#schedules = [...this.#syncs.values()].map((sync) => new Schedule(sync, signal))
    const first = Promise.all(this.#schedules.map((schedule) => schedule.start()))
    if (this.#syncs.size === 0) {
      this.gateway.log.warn('there is no source, so every registry is empty')
      await this.publish()
    }
    await patiently(first)
  }

  async stop(): Promise<void> {
    this.#ending.abort(new Error('the gateway is stopping'))
    for (const schedule of this.#schedules) schedule.stop()
    await Promise.all([this.#published, ...[...this.#syncs.values()].map(({ idle }) => idle)])
  }

  private syncFor(source: Source): SourceSync {
    const directory = this.stateDirectory()
    const state = directory === undefined ? undefined : new StateFile(directory, source.name, source.place)
    const { maxDocumentBytes } = this.options
    const key = JSON.stringify([source.name, source.place, maxDocumentBytes])
    const last = this.gateway.keep(
      key,
      (): LastRead => ({}),
      () => {},
    )
    const own = { log: this.gateway.log, meter: this.#meter, gatherer: this.#gatherer, last }
    const parts = { ...own, state, timeout: this.options.syncTimeout, publish: () => this.publish() }
    return new SourceSync(source, parts, this.#ending.signal)
  }

  private stateDirectory(): string | undefined {
    const { stateDirectory } = this.options
    if (stateDirectory === null) return undefined
    if (stateDirectory !== undefined) return this.gateway.path(stateDirectory)
    // A relative path there is to be ignored, says the XDG specification.
    const given = process.env['XDG_STATE_HOME'] ?? ''
    const base = isAbsolute(given) ? given : join(homedir(), '.local', 'state')
    return join(base, 'sallyport', 'registry')
  }

  /** One after the other, so that an older state never replaces a newer one. */
  private publish(): Promise<void> {
    const turn = this.#published.then(() => this.layAll())
    this.#published = turn.catch(() => {})
    return turn
  }

  private async layAll(): Promise<void> {
    for (const { name, sources } of this.options.registries) {
      const syncs = sources.map((source) => this.#syncs.get(source)).filter((sync) => sync !== undefined)
      if (syncs.length < sources.length || syncs.some(({ loaded }) => !loaded)) continue
      const holdings = syncs.map(({ holding }) => holding)
      const snapshot = new Snapshot(name, await Layers.of(holdings, new Breath(this.#ending.signal)))
      this.#snapshots.set(name, snapshot)
      this.#meter.serving(name, snapshot.size)
    }
  }
}

function refuseWrongNames(sources: readonly Source[], { registries }: Options): void {
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

async function patiently(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const enough = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, PATIENCE)
  })
  await Promise.race([work, enough])
  clearTimeout(timer)
}
