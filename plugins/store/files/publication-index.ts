import type { PublicationActor, PublicationEvent, PublicationState } from 'sallyport'
import { ACTIVE, isSameState, type PublishedVersion, withState } from '../publications/publication.js'
import type { LinePlace } from './journal-file.js'
import type { JournalChange } from './journal-line.js'

/** A version, and the line that has its document. */
export interface IndexedVersion extends PublishedVersion {
  readonly published: LinePlace
  readonly publisher: PublicationActor
}

/** What happened at once, to one version or to all of a name. */
interface IndexedChange extends Pick<Event, 'name' | 'at' | 'action' | 'actor' | 'after'> {
  readonly versions: readonly string[]
  /** Of each version; none before it was published. */
  readonly before: readonly (PublicationState | undefined)[]
}

interface IndexedName {
  readonly versions: Map<string, IndexedVersion>
  /** The oldest first. It is not read from the file: a change of 10,000 versions is a line of megabytes. */
  readonly history: IndexedChange[]
}

/** What a journal says, without the documents. */
export class PublicationIndex {
  private readonly names = new Map<string, IndexedName>()
  /** Few readers have seen none of them, and many all but the last. */
  private readonly changes: IndexedChange[] = []
  /** Few people make many changes. */
  private readonly actors = new Map<string, PublicationActor>()
  /** The time of the last change. No later one is before it, whatever the clock says. */
  lastAt = ''

  /** How many changes there are. */
  get revision(): number {
    return this.changes.length
  }

  versionsOf(name: string): ReadonlyMap<string, IndexedVersion> {
    return this.names.get(name)?.versions ?? new Map()
  }

  /** The newest first. */
  historyOf(name: string, limit: number): readonly PublicationEvent[] {
    const events: PublicationEvent[] = []
    for (const change of (this.names.get(name)?.history ?? []).toReversed())
      for (let at = change.versions.length - 1; at >= 0; at--) {
        if (events.length >= limit) return events
        events.push(eventIn(change, at))
      }
    return events
  }

  *all(): Generator<IndexedVersion> {
    for (const { versions } of this.names.values()) yield* versions.values()
  }

  /** Those that changed after a revision, each once and as it is now. */
  since(revision: number): Iterable<IndexedVersion> {
    const found = new Set<IndexedVersion>()
    for (let at = revision; at < this.changes.length; at++) {
      const { name, versions } = this.changes[at] ?? NO_CHANGE
      for (const each of versions) {
        const version = this.versionsOf(name).get(each)
        if (version !== undefined) found.add(version)
      }
    }
    return found
  }

  /** Returns why the change does not fit what is known; then nothing was done. */
  add({ number, events, server }: JournalChange, place: LinePlace): string | undefined {
    const [{ name, at, action, after, ...first }, ...others] = events as [Event, ...Event[]]
    if (number !== this.revision + 1)
      return `it is change ${number}, and ${this.revision + 1} is expected here`
    if (others.some((other) => other.name !== name)) return 'it is about several names'
    if (others.some((other) => other.at !== at || !isSameState(other.after, after)))
      return 'it is several changes'
    const { versions, history }: IndexedName = this.names.get(name) ?? { versions: new Map(), history: [] }
    const isPublish = action === 'publish'
    if (isPublish !== (server !== undefined) || (isPublish && others.length > 0)) return 'it is incomplete'
    if (events.some(({ version }) => versions.has(version) === isPublish))
      return 'it publishes what was there, or changes what was not'
    const actor = this.actorOf(first.actor)
    const changed = events.map(({ version }) => version)
    const before = changed.map((version) => versions.get(version)?.state)
    for (const version of changed) {
      const known = versions.get(version) ?? newVersion({ name, version, at, actor }, place)
      versions.set(version, { ...known, ...withState(known, after, at) })
    }
    const change = { name, at, action, actor, after, versions: changed, before }
    history.push(change)
    this.names.set(name, { versions, history })
    this.changes.push(change)
    this.lastAt = at
    return undefined
  }

  private actorOf({ provider, subject }: PublicationActor): PublicationActor {
    const key = JSON.stringify([provider, subject])
    const actor = this.actors.get(key) ?? { provider, subject }
    this.actors.set(key, actor)
    return actor
  }
}

type Event = JournalChange['events'][number]

const NO_CHANGE = { name: '', versions: [] }

function eventIn(
  { name, at, action, actor, after, versions, before }: IndexedChange,
  index: number,
): PublicationEvent {
  const state = before[index]
  const about = { name, version: versions[index] ?? '', at, action, actor }
  return { ...about, ...(state !== undefined && { before: state }), after }
}

const newVersion = (
  { name, version, at, actor }: Pick<Event, 'name' | 'version' | 'at' | 'actor'>,
  published: LinePlace,
): IndexedVersion => ({
  ...{ name, version, published, publisher: actor },
  state: ACTIVE,
  ...{ publishedAt: at, updatedAt: at, statusChangedAt: at },
})
