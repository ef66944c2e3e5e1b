import { hash } from 'node:crypto'
import type { ServerStatus, ServerVersion, StoredDocument } from 'sallyport'
import { joined } from '#plugins/store/bytes.js'

/** Half a SHA-256 digest, one character a byte: short, and long enough to distinguish all versions. */
export type Digest = string

export const DIGEST_SIZE = 16

export const digestOf = (bytes: Uint8Array): Digest =>
  hash('sha256', bytes, 'buffer').toString('latin1', 0, DIGEST_SIZE)

/** A valid document, as the parser thread sends it. */
export interface ParsedVersion {
  readonly name: string
  readonly version: string
  readonly status: ServerStatus
  readonly publishedAt: string | undefined
  readonly updatedAt: string | undefined
  /** Of the bytes that the source gave. */
  readonly sourceDigest: Digest
  /** The response up to its dates: its start and end in the heads of the batch, and its digest. */
  readonly start: number
  readonly end: number
  readonly headDigest: Digest
}

/** Text, so that the registry serves a given date unchanged. */
export interface Dates {
  readonly publishedAt: string
  readonly updatedAt: string
}

/**
 * The date of a document without a date, from a source that gives none either: the same in every process, whenever the
 * process started and whatever it read before.
 */
export const UNKNOWN_DATE = '1970-01-01T00:00:00.000Z'

const UNKNOWN = Date.parse(UNKNOWN_DATE)

/** A version in memory. It never changes, so snapshots share it. */
export interface StoredVersion extends ServerVersion, StoredDocument {
  /** Milliseconds since the epoch. */
  readonly publishedAt: number
  readonly updatedAt: number
  /** For clients that request changes since a date: reporting a change twice is better than never. */
  readonly changedAt: number
  /** Of the bytes that the source gave. */
  readonly sourceDigest: Digest
  /** Identifies the response up to the value of `isLatest`. */
  readonly bodyTag: string
}

/** `heads`: the heads of all versions of the batch. `bodyTag`: the tag of this version with these dates. */
export function storedVersion(
  { name, version, status, sourceDigest, start, end }: ParsedVersion,
  heads: Uint8Array,
  dates: Dates,
  bodyTag: string,
): StoredVersion {
  const json = joined([heads.subarray(start, end), Buffer.from(textOf(dates)), endOf(false)])
  const [publishedAt, updatedAt] = [Date.parse(dates.publishedAt), Date.parse(dates.updatedAt)]
  const changedAt = updatedAt === UNKNOWN ? Number.POSITIVE_INFINITY : updatedAt
  const identity = { name, version, status, publishedAt, updatedAt, changedAt, sourceDigest }
  return { ...identity, isLatest: false, json, document: json, bodyTag, tag: bodyTag }
}

/** The same version, as the latest of its server or not. */
export function marked(version: StoredVersion, isLatest: boolean): StoredVersion {
  if (isLatest === version.isLatest) return version
  const body = version.json.subarray(0, version.json.length - endOf(version.isLatest).length)
  const json = joined([body, endOf(isLatest)])
  const tag = isLatest ? `${version.bodyTag}-` : version.bodyTag
  return { ...version, isLatest, json, document: json, tag }
}

export const bodyTagOf = ({ headDigest }: ParsedVersion, dates: Dates): string =>
  hash('sha256', Buffer.from(headDigest + textOf(dates), 'latin1'), 'buffer').toString(
    'base64url',
    0,
    DIGEST_SIZE,
  )

/** The dates, up to the value of `isLatest`. */
const textOf = ({ publishedAt, updatedAt }: Dates): string =>
  `,${JSON.stringify({ publishedAt, updatedAt }).slice(1, -1)},"isLatest":`

const LATEST = Buffer.from('true}}}')
const NOT_LATEST = Buffer.from('false}}}')

const endOf = (isLatest: boolean): Buffer => (isLatest ? LATEST : NOT_LATEST)
