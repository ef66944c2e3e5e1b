import type { ServerStatus, ServerVersion } from 'sallyport'
import { type Digest, digestOf } from './digest.js'
import type { ParsedVersion } from './parser.js'
import { type Dates, datesText, endOf, UNKNOWN_DATE } from './version-text.js'

const UNKNOWN = Date.parse(UNKNOWN_DATE)

/** What is stored of a version, whatever other versions its server has. */
type VersionFields = Pick<
  StoredVersion,
  'name' | 'version' | 'status' | 'publishedAt' | 'updatedAt' | 'sourceDigest' | 'body' | 'bodyTag'
>

/** A version in memory. What is served of it never changes, so snapshots share it. */
export class StoredVersion implements ServerVersion {
  readonly name: string
  readonly version: string
  readonly status: ServerStatus
  /** Milliseconds since the epoch. */
  readonly publishedAt: number
  readonly updatedAt: number
  /** Of the bytes that the source gave. */
  readonly sourceDigest: Digest
  /** The response, up to the value of `isLatest`. */
  body: Buffer
  /** Identifies `body`. */
  readonly bodyTag: string

  constructor(
    fields: VersionFields,
    readonly isLatest: boolean,
  ) {
    this.name = fields.name
    this.version = fields.version
    this.status = fields.status
    this.publishedAt = fields.publishedAt
    this.updatedAt = fields.updatedAt
    this.sourceDigest = fields.sourceDigest
    this.body = fields.body
    this.bodyTag = fields.bodyTag
  }

  /** Copies its bytes, so that the buffer of which they were a part is not kept in memory. */
  moveOut(): void {
    const { length } = this.body
    const own = Buffer.allocUnsafeSlow(length)
    this.body.copy(own)
    this.body = own
  }

  /** The response, in parts. */
  get parts(): readonly [Buffer, Buffer] {
    return [this.body, endOf(this.isLatest)]
  }

  get json(): Buffer {
    return Buffer.concat(this.parts)
  }

  get tag(): string {
    return this.isLatest ? `${this.bodyTag}-` : this.bodyTag
  }

  /** For who asks what changed since a date: better told once too often than never. */
  get changedAt(): number {
    return this.updatedAt === UNKNOWN ? Number.POSITIVE_INFINITY : this.updatedAt
  }
}

/** `bodies`: those of parsed versions. Its own is a part of them. */
export function storedVersion(parsed: ParsedVersion, bodies: Uint8Array, dates: Dates): StoredVersion {
  const { name, version, status, sourceDigest, documentDigest, documentEnd, datesAt } = parsed
  const room = roomOf(parsed, bodies)
  const body = room.subarray(0, datesAt + room.write(datesText(dates), datesAt))
  const afterDocument = body.subarray(documentEnd)
  const digest = digestOf(Buffer.concat([Buffer.from(documentDigest, 'latin1'), afterDocument]))
  const bodyTag = Buffer.from(digest, 'latin1').toString('base64url')
  const [publishedAt, updatedAt] = [Date.parse(dates.publishedAt), Date.parse(dates.updatedAt)]
  const fields = { name, version, status, publishedAt, updatedAt, sourceDigest, body, bodyTag }
  return new StoredVersion(fields, false)
}

const roomOf = ({ start, end }: ParsedVersion, { buffer, byteOffset }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset + start, end - start)
