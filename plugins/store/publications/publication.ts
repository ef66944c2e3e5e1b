import {
  type PublicationActor,
  type PublicationEvent,
  type PublicationState,
  Refusal,
  type VersionKey,
} from 'sallyport'
import { OFFICIAL } from 'sallyport/toolkit'

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

const identified = ({ provider, subject, issuer }: PublicationActor): PublicationActor => ({
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

/** A version as a source gives it: made of what is stored alone, so that every process serves the same bytes. */
export function payloadOf(
  { state: { status, statusMessage }, statusChangedAt, publishedAt, updatedAt }: PublishedVersion,
  server: Uint8Array,
): Buffer {
  const official = { status, statusMessage, statusChangedAt, publishedAt, updatedAt }
  const metadata = JSON.stringify({ [OFFICIAL]: official })
  return Buffer.concat([HEAD, server, Buffer.from(`,"_meta":${metadata}}`)])
}

const HEAD = Buffer.from('{"server":')

/** Throws for what would make a payload that nobody can read: it would hide everything else that is published. */
export function checkServer(server: Uint8Array): void {
  JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(server))
}

export const versionExists = ({ name, version }: VersionKey): Refusal =>
  new Refusal(
    409,
    'VERSION_EXISTS',
    `${name} has a version ${version} already, and a version never changes: publish another one`,
  )

export const tooManyVersions = ({ name }: VersionKey, most: number): Refusal =>
  new Refusal(
    409,
    'TOO_MANY_VERSIONS',
    `${name} has ${most} versions already, which is the most that it may have`,
  )

export const sourceFull = (most: number): Refusal =>
  new Refusal(
    409,
    'SOURCE_FULL',
    `what is published here may have ${most} bytes, and there is no room for more: ask the operator, or purge what was deleted`,
  )

export const publisherFull = (most: number): Refusal =>
  new Refusal(
    409,
    'PUBLISHER_FULL',
    `what you publish here may have ${most} bytes, and there is no room for more: ask the operator, or purge what was deleted`,
  )

export const versionUnknown = ({
  name,
  version,
}: {
  readonly name: string
  readonly version?: string | undefined
}): Refusal =>
  new Refusal(
    404,
    'VERSION_UNKNOWN',
    `nothing is published as ${name}${version === undefined ? '' : `@${version}`}`,
  )
