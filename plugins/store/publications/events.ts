import type { PublicationActor, PublicationEvent, PublicationState, VersionKey } from 'sallyport'

// Database threads load this file: it imports only types.

/** A published version as every process and every store knows it. */
export interface PublishedVersion extends VersionKey {
  readonly state: PublicationState
  /** ISO 8601 in UTC, as all dates here. */
  readonly publishedAt: string
  readonly updatedAt: string
  readonly statusChangedAt: string
}

/** The version as it was published. */
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

/** The stored event of a publication, with only the identity of its author. */
export const publishEvent = (
  { name, version }: VersionKey,
  actor: PublicationActor,
  at: string,
): PublicationEvent => ({
  ...{ name, version, at, action: 'publish' },
  ...{ actor: identified(actor), after: ACTIVE },
})

/** Only the identity of the author, no other claims. */
export const identified = ({ provider, subject, issuer }: PublicationActor): PublicationActor => ({
  ...{ provider, subject },
  ...(issuer !== undefined && { issuer }),
})

/**
 * The stored event of a status change, and the versions that it changes; undefined when all have the status already.
 */
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

/** The stored event of a purge. */
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
