import type { ServerStatus } from 'sallyport'
import { DIGEST_SIZE, type Digest } from './digest.js'
import { bufferOver, type NameBytes, nameBytesOf, shared, sharedNumbers } from './names.js'

/**
 * What is held from a source, but for the texts: a row for each server in the order of names, and a row for each
 * version, those of a server together and newest first. It is in memory that threads share, never written to once it
 * is served, and nothing in it is an object: what the garbage collector has to walk through, callers wait for.
 */
export interface Columns extends NameBytes {
  /** Of each server, its first version; one more at the end. */
  readonly firstVersion: Uint32Array
  /** Of each server, when the youngest change in it was made. */
  readonly changedAt: Float64Array
  readonly versions: Uint8Array
  readonly versionStart: Uint32Array
  /** Of each version, a place in `STATUSES`. */
  readonly status: Uint8Array
  readonly isLatest: Uint8Array
  readonly publishedAt: Float64Array
  readonly updatedAt: Float64Array
  /** The three digests of each version, one behind the other. */
  readonly digests: Uint8Array
  /** The two places of each version: chunk, start and size of one, then of the other. */
  readonly places: Uint32Array
}

/** How many numbers stand for a place. */
export const PLACE = 3

export const STATUSES: readonly ServerStatus[] = ['active', 'deprecated', 'deleted']

/** A version on its way into the columns, or out of them. */
export interface Version {
  readonly version: string
  readonly status: ServerStatus
  /** Milliseconds since the epoch. */
  readonly publishedAt: number
  readonly updatedAt: number
  /** Stands for the bytes that the source gave. */
  readonly mark: Digest
  /** Stands for the publisher's document. */
  readonly document: Digest
  /** Stands for the whole answer, but for whether this is the latest, which changes with its neighbours. */
  readonly text: Digest
  /** Where the document lies, and where what is told of it. */
  readonly places: readonly number[]
}

export interface OrderedServer {
  readonly name: string
  /** Newest first. */
  readonly versions: readonly Version[]
  readonly latest: Version | undefined
}

/** Writes the columns for servers that are in order. */
export function columnsOf(servers: readonly OrderedServer[]): Columns {
  const all = servers.flatMap(({ versions }) => versions)
  const columns: Columns = {
    ...nameBytesOf(servers.map(({ name }) => name)),
    ...versionBytesOf(all),
    firstVersion: sharedNumbers(servers.length + 1),
    changedAt: sharedDoubles(servers.length),
    status: shared(all.length),
    isLatest: shared(all.length),
    publishedAt: sharedDoubles(all.length),
    updatedAt: sharedDoubles(all.length),
    digests: shared(all.length * 3 * DIGEST_SIZE),
    places: sharedNumbers(all.length * 2 * PLACE),
  }
  let row = 0
  for (const [index, { versions, latest }] of servers.entries()) {
    columns.firstVersion[index] = row
    columns.changedAt[index] = versions.reduce((last, { updatedAt }) => Math.max(last, updatedAt), 0)
    for (const version of versions) {
      columns.isLatest[row] = version === latest ? 1 : 0
      write(columns, row++, version)
    }
  }
  columns.firstVersion[servers.length] = row
  return columns
}

function write(columns: Columns, row: number, version: Version): void {
  columns.status[row] = STATUSES.indexOf(version.status)
  columns.publishedAt[row] = version.publishedAt
  columns.updatedAt[row] = version.updatedAt
  columns.places.set(version.places, row * 2 * PLACE)
  const { mark, document, text } = version
  bufferOver(columns.digests).write(mark + document + text, row * 3 * DIGEST_SIZE, 'latin1')
}

function versionBytesOf(all: readonly Version[]): Pick<Columns, 'versions' | 'versionStart'> {
  const versionStart = sharedNumbers(all.length + 1)
  let end = 0
  for (const [row, { version }] of all.entries()) {
    end += Buffer.byteLength(version)
    versionStart[row + 1] = end
  }
  const versions = shared(end)
  const bytes = bufferOver(versions)
  for (const [row, { version }] of all.entries()) bytes.write(version, versionStart[row] ?? 0)
  return { versions, versionStart }
}

const sharedDoubles = (length: number): Float64Array =>
  new Float64Array(new SharedArrayBuffer(length * Float64Array.BYTES_PER_ELEMENT))
