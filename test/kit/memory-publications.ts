import {
  type ChangedVersion,
  type PublicationActor,
  type PublicationEvent,
  type PublicationLimits,
  type PublicationState,
  type Publications,
  Refusal,
} from 'sallyport'

const OFFICIAL = 'io.modelcontextprotocol.registry/official'

interface StoredVersion {
  readonly name: string
  readonly version: string
  /** Undefined for a purged version. */
  server: string | undefined
  readonly bytes: number
  readonly publishedAt: string
  readonly publisher: PublicationActor
  state: PublicationState
  updatedAt: string
  revision: number
}

type Target = { readonly name: string; readonly version?: string | undefined }

/** The publications of one source, in memory. `fault` names one mistake that a store may make. */
export class MemoryPublications implements Publications {
  readonly location = 'memory'
  private readonly versions = new Map<string, StoredVersion>()
  private events: PublicationEvent[] = []
  private revision = 0
  /** Revision of the last purge: a reader with an earlier revision gets the whole content. */
  private purged = 0
  private readonly watchers = new Set<() => void>()

  constructor(private readonly fault = '') {}

  async read(since: string | undefined) {
    const { revision } = this
    const current = (): string => String(revision)
    if (since === current()) return { kind: 'unchanged' as const, payloads: [], revision: current }
    const known = this.fault !== 'purge not reported' && Number(since) < this.purged ? undefined : since
    const payloads = [...this.versions.values()]
      .filter((each) => each.server !== undefined && each.revision > Number(known ?? 0))
      .map(payloadOf)
    const twice =
      this.fault === 'changes twice' && known !== undefined ? [...payloads, ...payloads] : payloads
    const kind = known === undefined ? ('whole' as const) : ('changes' as const)
    return { kind, payloads: twice, revision: current }
  }

  watch(changed: () => void) {
    if (this.fault !== 'silent') this.watchers.add(changed)
    return () => void this.watchers.delete(changed)
  }

  async publish(
    { name, version, server }: { name: string; version: string; server: Uint8Array },
    requestedBy: PublicationActor,
    limits: PublicationLimits,
  ) {
    const key = JSON.stringify([name, version])
    const known = this.versions.get(key)
    if (known !== undefined && !(this.fault === 'published again' && known.server === undefined))
      throw new Refusal(409, 'VERSION_EXISTS', 'it is there')
    // So that a concurrent call runs in between.
    if (this.fault === 'race' && this.versions.size === 0) await new Promise(setImmediate)
    const actor = this.actorOf(requestedBy)
    this.checkRoom(name, server.length, actor, limits)
    const after: PublicationState = { status: 'active' }
    const event = this.add({ name, version, action: 'publish', actor, after }, limits)
    const text = Buffer.from(server).toString()
    const document = this.fault === 'other bytes' ? JSON.stringify(JSON.parse(text)) : text
    const { revision } = this
    const bytes = server.length
    const dates = { publishedAt: event.at, updatedAt: event.at }
    this.versions.set(key, {
      ...{ name, version, server: document, bytes, revision },
      ...dates,
      publisher: actor,
      state: after,
    })
    this.notifyWatchers()
    return event
  }

  async setStatus(target: Target, state: PublicationState, requestedBy: PublicationActor, limits = {}) {
    const { name } = target
    const changed: (ChangedVersion & { readonly stored: StoredVersion })[] = []
    for (const stored of this.matching(target, ({ server }) => server !== undefined)) {
      const before = stored.state
      const same = before.status === state.status && before.statusMessage === state.statusMessage
      if (!same) changed.push({ version: stored.version, before, stored })
    }
    const [first] = changed
    if (first === undefined) return []
    const actor = this.actorOf(requestedBy)
    const versions = changed.map(({ version, before }) => ({ version, ...(before && { before }) }))
    const about = { name, action: 'status' as const, actor, after: state }
    const events =
      this.fault === 'an event for each'
        ? versions.map((each) => this.add({ ...about, ...each }, limits))
        : [
            this.add(
              { ...about, ...versions[0], version: first.version, ...(versions.length > 1 && { versions }) },
              limits,
            ),
          ]
    for (const { stored } of changed) {
      const message = this.fault === 'message stays' ? stored.state.statusMessage : undefined
      stored.state = message === undefined ? state : { statusMessage: message, ...state }
      stored.revision = this.revision
      stored.updatedAt = events[0]?.at ?? ''
    }
    this.notifyWatchers()
    return events
  }

  async purge(name: string, actor: PublicationActor, limits = {}) {
    const gone = this.matching({ name }).filter(
      ({ state, server }) => state.status === 'deleted' && server !== undefined,
    )
    const versions = gone.map(({ version }) => ({ version, before: { status: 'deleted' } as const }))
    const [first] = versions
    if (first === undefined) return { versions: [], bytes: 0 }
    const bytes = gone.reduce((sum, each) => sum + each.bytes, 0)
    const after = { status: 'deleted' } as const
    this.add({ name, ...first, action: 'purge', actor: this.actorOf(actor), after, versions }, limits)
    for (const each of gone) each.server = undefined
    this.purged = this.revision
    this.notifyWatchers()
    return { versions: versions.map(({ version }) => version), bytes }
  }

  async history(name: string, limit: number) {
    const found = this.events.filter((each) => each.name === name)
    return (this.fault === 'oldest first' ? found : found.toReversed()).slice(0, limit)
  }

  async publisher({ name, version }: { name: string; version: string }) {
    if (this.fault === 'no publisher') return undefined
    const isSame = (each: PublicationEvent) => each.name === name && each.version === version
    if (this.fault === 'publisher by events')
      return this.events.find((each) => isSame(each) && each.action === 'publish')?.actor
    return this.versions.get(JSON.stringify([name, version]))?.publisher
  }

  private actorOf({ issuer, ...actor }: PublicationActor): PublicationActor {
    return issuer === undefined || this.fault === 'no issuer' ? actor : { ...actor, issuer }
  }

  private matching(
    { name, version }: Target,
    is: (stored: StoredVersion) => boolean = () => true,
  ): readonly StoredVersion[] {
    const matching = [...this.versions.values()].filter(
      (each) => each.name === name && (version === undefined || each.version === version) && is(each),
    )
    if (matching.length === 0) throw new Refusal(404, 'VERSION_UNKNOWN', 'there is none')
    return matching
  }

  private checkRoom(name: string, size: number, actor: PublicationActor, limits: PublicationLimits): void {
    const { maxVersions, maxBytes = Infinity, maxBytesOfActor = Infinity } = limits
    const all = [...this.versions.values()]
    if (all.filter((each) => each.name === name).length >= maxVersions && this.fault !== 'unbounded')
      throw new Refusal(409, 'TOO_MANY_VERSIONS', 'full')
    const bytesOf = (some: readonly StoredVersion[]): number =>
      some.reduce((sum, { server, bytes }) => sum + (server === undefined ? 0 : bytes), size)
    const own = all.filter(({ publisher }) => JSON.stringify(publisher) === JSON.stringify(actor))
    if (bytesOf(own) > maxBytesOfActor && this.fault !== 'bytes')
      throw new Refusal(409, 'PUBLISHER_FULL', 'no room among yours')
    if (bytesOf(all) > maxBytes) throw new Refusal(409, 'SOURCE_FULL', 'no room')
  }

  private add(
    event: Omit<PublicationEvent, 'at'>,
    { maxEvents = Infinity }: Pick<PublicationLimits, 'maxEvents'>,
  ): PublicationEvent {
    this.revision++
    const at = new Date(this.fault === '' ? Date.now() : this.revision).toISOString()
    const added = { ...event, at }
    this.events.push(added)
    const own = this.events.filter(({ name }) => name === event.name)
    const old = new Set(this.fault === 'history' ? [] : own.slice(0, Math.max(0, own.length - maxEvents)))
    this.events = this.events.filter((each) => !old.has(each))
    return added
  }

  private notifyWatchers(): void {
    for (const changed of this.watchers) changed()
  }
}

const payloadOf = ({ server, state, publishedAt, updatedAt }: StoredVersion): Buffer =>
  Buffer.from(
    `{"server":${server},"_meta":${JSON.stringify({ [OFFICIAL]: { ...state, publishedAt, updatedAt } })}}`,
  )
