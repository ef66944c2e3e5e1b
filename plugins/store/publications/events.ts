import type { PublicationActor, PublicationEvent, PublicationState, VersionKey } from 'sallyport'

// Threads of databases load this: it imports nothing that runs.

/** What every process knows of a published version, whichever store it is in. */
export interface PublishedVersion extends VersionKey {
  readonly state: PublicationState
  /** ISO 8601 in UTC, as all dates here. */
  readonly publishedAt: string
  readonly updatedAt: string
  readonly statusChangedAt: string
}

/** What a publication is by itself: the version as it was published. */
export const ACTIVE: PublicationState = { status: 'active' }

const isSameState = (one: PublicationState, other: PublicationState): boolean =>
  one.status === other.status && one.statusMessage === other.statusMessage

/** A version after a change of its state. */
export const withState = (
  version: PublishedVersion,
  state: PublicationState,
  at: string,
): PublishedVersion => ({
  ...version,
  state,
  updatedAt: at,
  statusChangedAt: state.status === version.state.status ? version.statusChangedAt : at,
})

/** What is stored of a publication, with nothing of who did it but what identifies them. */
export const publishEvent = (
  { name, version }: VersionKey,
  actor: PublicationActor,
  at: string,
): PublicationEvent => ({
  ...{ name, version, at, action: 'publish' },
  ...{ actor: identified(actor), after: ACTIVE },
})

/** Of who did it, nothing but what identifies them. */
export const identified = ({ provider, subject, issuer }: PublicationActor): PublicationActor => ({
  ...{ provider, subject },
  ...(issuer !== undefined && { issuer }),
})

/** What is stored of a change of the state, and the versions that it changes: nothing where all have it. */
export function statusEvent(
  versions: readonly PublishedVersion[],
  { status, statusMessage }: PublicationState,
  actor: PublicationActor,
  at: string,
): { readonly event: PublicationEvent | undefined; readonly changed: readonly PublishedVersion[] } {
  const after = { status, ...(statusMessage !== undefined && { statusMessage }) }
  const changed = versions.filter(({ state }) => !isSameState(state, after))
  return { event: eventOf('status', changed, actor, at, after), changed }
}

/** What is stored of a purge. */
export const purgeEvent = (
  versions: readonly PublishedVersion[],
  actor: PublicationActor,
  at: string,
): PublicationEvent | undefined => eventOf('purge', versions, actor, at, { status: 'deleted' })

function eventOf(
  action: PublicationEvent['action'],
  changed: readonly PublishedVersion[],
  actor: PublicationActor,
  at: string,
  after: PublicationState,
): PublicationEvent | undefined {
  const [first] = changed
  if (first === undefined) return undefined
  const versions = changed.map(({ version, state: before }) => ({ version, before }))
  const about = { name: first.name, version: first.version, at, action, actor: identified(actor) }
  return { ...about, before: first.state, after, ...(versions.length > 1 && { versions }) }
}
