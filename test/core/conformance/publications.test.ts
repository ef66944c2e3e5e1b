import {
  type PublicationActor,
  type PublicationEvent,
  type PublicationState,
  PublicationStore,
  type Publications,
  Refusal,
} from 'sallyport'
import { findsFaults } from '#kit/conformance.js'
import { OFFICIAL } from '../../plugins/registry/registry.js'

interface Held {
  readonly name: string
  readonly version: string
  readonly server: string
  readonly publishedAt: string
  state: PublicationState
  revision: number
}

/** One source, in memory. Each fault is what a store may get wrong. */
class MemoryLog implements Publications {
  readonly place = 'memory'
  readonly held = new Map<string, Held>()
  private readonly events: PublicationEvent[] = []
  private readonly watchers = new Set<() => void>()

  constructor(private readonly fault: string) {}

  async read(since: string | undefined) {
    const { length } = this.events
    const known = Number(since ?? 0)
    if (since === String(length)) return { kind: 'unchanged' as const, payloads: [], revision: () => since }
    const found = [...this.held.values()].filter(({ revision }) => revision > known)
    const payloads = found.map(({ server, state, publishedAt }) =>
      Buffer.from(
        `{"server":${server},"_meta":${JSON.stringify({ [OFFICIAL]: { ...state, publishedAt } })}}`,
      ),
    )
    const twice =
      this.fault === 'changes twice' && since !== undefined ? [...payloads, ...payloads] : payloads
    return {
      kind: since === undefined ? ('whole' as const) : ('changes' as const),
      payloads: twice,
      revision: () => String(length),
    }
  }

  watch(changed: () => void) {
    if (this.fault !== 'silent') this.watchers.add(changed)
    return () => void this.watchers.delete(changed)
  }

  async publish(
    { name, version, server }: { name: string; version: string; server: Uint8Array },
    actor: PublicationActor,
    { maxVersions }: { maxVersions: number },
  ) {
    const key = JSON.stringify([name, version])
    if (this.held.has(key)) throw new Refusal(409, 'VERSION_EXISTS', 'it is there')
    // So that another has its turn in between.
    if (this.fault === 'race' && this.held.size === 0) await new Promise(setImmediate)
    const count = [...this.held.values()].filter((each) => each.name === name).length
    if (count >= maxVersions && this.fault !== 'unbounded')
      throw new Refusal(409, 'TOO_MANY_VERSIONS', 'full')
    const after: PublicationState = { status: 'active' }
    const event = this.add({ name, version, action: 'publish', actor, after })
    const text = Buffer.from(server).toString()
    const document = this.fault === 'other bytes' ? JSON.stringify(JSON.parse(text)) : text
    const about = { name, version, server: document, publishedAt: event.at }
    this.held.set(key, { ...about, state: after, revision: this.events.length })
    return event
  }

  async setStatus(
    { name, version }: { name: string; version?: string | undefined },
    state: PublicationState,
    actor: PublicationActor,
  ) {
    const meant = [...this.held.values()].filter(
      (each) => each.name === name && (version === undefined || each.version === version),
    )
    if (meant.length === 0) throw new Refusal(404, 'VERSION_UNKNOWN', 'there is none')
    const changed: PublicationEvent[] = []
    for (const each of meant) {
      const before = each.state
      const message =
        state.statusMessage ?? (this.fault === 'message stays' ? before.statusMessage : undefined)
      const after = { status: state.status, ...(message !== undefined && { statusMessage: message }) }
      if (JSON.stringify(after) === JSON.stringify(before) && message === state.statusMessage) continue
      changed.push(this.add({ name, version: each.version, action: 'status', actor, before, after }))
      each.state = after
      each.revision = this.events.length
    }
    return changed
  }

  async history(name: string, limit: number) {
    const found = this.events.filter((each) => each.name === name)
    return (this.fault === 'oldest first' ? found : found.toReversed()).slice(0, limit)
  }

  async publisher({ name, version }: { name: string; version: string }) {
    const isMeant = (each: PublicationEvent) => each.name === name && each.version === version
    return this.fault === 'no publisher' ? undefined : this.events.find(isMeant)?.actor
  }

  private add(event: Omit<PublicationEvent, 'at'>): PublicationEvent {
    const added = { ...event, at: new Date(this.events.length).toISOString() }
    this.events.push(added)
    for (const changed of this.watchers) changed()
    return added
  }
}

const store = (fault: string) => () => ({ open: () => new MemoryLog(fault) })
/** Sources are one whose names differ behind a blank. */
const shared = () => {
  const logs = new Map<string, MemoryLog>()
  return {
    open(source: string) {
      const [name = ''] = source.split(' ')
      const publications = logs.get(name) ?? new MemoryLog('')
      logs.set(name, publications)
      return publications
    },
  }
}

findsFaults(PublicationStore, {
  'documents that were parsed': { code: 'VERSION_CHANGED', make: store('other bytes') },
  'a decision before the write': { code: 'RACE_LOST', make: store('race') },
  'a message that nothing takes away': { code: 'STATUS_WRONG', make: store('message stays') },
  'the oldest event first': { code: 'HISTORY_WRONG', make: store('oldest first') },
  'a publisher that nobody knows': { code: 'HISTORY_WRONG', make: store('no publisher') },
  'a version for each of its changes': { code: 'CHANGES_WRONG', make: store('changes twice') },
  'versions without an end': { code: 'VERSIONS_UNBOUNDED', make: store('unbounded') },
  'nobody that is told': { code: 'WATCH_SILENT', make: store('silent') },
  'sources that share what is published': { code: 'NAMES_MIXED', make: shared },
})
