import type { ServerStatus } from 'sallyport'
import { OFFICIAL } from 'sallyport/toolkit'
import type { BodyWriter } from './body-writer.js'
import type { JsonScan, Span } from './json-scan.js'

/** The registry's metadata of a version before its dates, in the order in which it is served. */
export interface Status {
  readonly status: ServerStatus
  readonly statusMessage?: string | undefined
  readonly statusChangedAt?: string | undefined
}

/** Text, so that a given date is served as it came. */
export interface Dates {
  readonly publishedAt: string
  readonly updatedAt: string
}

/**
 * The date of what brings none, and whose source gives none either: the same in every process, whenever it began and
 * whatever it read before.
 */
export const UNKNOWN_DATE = '1970-01-01T00:00:00.000Z'

/** A response is `HEAD`, the publisher's document, its metadata, its dates, and whether it is the latest version. */
export const HEAD = '{"server":'
const LATEST = Buffer.from('true}}}')
const NOT_LATEST = Buffer.from('false}}}')

/** Writes the metadata of others, as the source gave it, and of the registry, up to the dates. */
export function writeMetadata(
  writer: BodyWriter,
  scan: JsonScan,
  given: Span | undefined,
  status: Status,
): void {
  writer.text(',"_meta":{')
  if (given !== undefined && scan.isObject(given.start)) {
    for (const [key, value] of scan.members(given.start)) {
      if (key === OFFICIAL) continue
      writer.text(`${JSON.stringify(key)}:`)
      writer.compact(scan, scan.span(value))
      writer.text(',')
    }
  }
  writer.text(`${JSON.stringify(OFFICIAL)}:${JSON.stringify(status).slice(0, -1)}`)
}

/** The dates, up to the value of `isLatest`. */
export const datesText = ({ publishedAt, updatedAt }: Dates): string =>
  `,${JSON.stringify({ publishedAt, updatedAt }).slice(1, -1)},"isLatest":`

export const endOf = (isLatest: boolean): Buffer => (isLatest ? LATEST : NOT_LATEST)
