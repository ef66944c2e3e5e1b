import { Refusal, type VersionKey } from 'sallyport'
import { OFFICIAL } from 'sallyport/toolkit'
import type { PublishedVersion } from './events.js'

/** A version as a source gives it: made only of stored values, so that every process serves the same bytes. */
export function payloadOf(
  { state: { status, statusMessage }, statusChangedAt, publishedAt, updatedAt }: PublishedVersion,
  server: Uint8Array,
): Buffer {
  const official = { status, statusMessage, statusChangedAt, publishedAt, updatedAt }
  const metadata = JSON.stringify({ [OFFICIAL]: official })
  return Buffer.concat([HEAD, server, Buffer.from(`,"_meta":${metadata}}`)])
}

const HEAD = Buffer.from('{"server":')

/** Throws for a version that would make its payload unreadable: it would hide all other publications. */
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
