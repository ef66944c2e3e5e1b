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
  { provider, subject }: PublicationActor,
  at: string,
): PublicationEvent => ({
  ...{ name, version, at, action: 'publish' },
  ...{ actor: { provider, subject }, after: ACTIVE },
})

/** What is stored of a change of the state: nothing for versions that have it. */
export function statusEvents<Version extends PublishedVersion>(
  versions: Iterable<Version>,
  { status, statusMessage }: PublicationState,
  { provider, subject }: PublicationActor,
  at: string,
): readonly (readonly [Version, PublicationEvent])[] {
  const after = { status, ...(statusMessage !== undefined && { statusMessage }) }
  return [...versions]
    .filter(({ state }) => !isSameState(state, after))
    .map((each) => {
      const { name, version, state: before } = each
      const actor = { provider, subject }
      return [each, { name, version, at, action: 'status', actor, before, after }]
    })
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
