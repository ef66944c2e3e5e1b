import type { ServerStatus, ServerVersion } from 'sallyport'
import { PLACE, STATUSES } from './columns.js'
import type { Holding } from './holding.js'
import { endOf, HEAD } from './version-text.js'

/** A version as it is read out of a holding: made when it is asked for, and gone with the answer. */
export class HeldVersion implements ServerVersion {
  readonly version: string
  readonly status: ServerStatus
  readonly isLatest: boolean
  readonly publishedAt: number

  constructor(
    private readonly holding: Holding,
    readonly name: string,
    private readonly row: number,
  ) {
    const { columns, rows } = holding
    this.version = rows.version(row)
    this.status = STATUSES[columns.status[row] ?? 0] ?? 'active'
    this.isLatest = columns.isLatest[row] === 1
    this.publishedAt = columns.publishedAt[row] ?? 0
  }

  get json(): Buffer {
    return Buffer.concat(piecesOf(this.holding, this.row))
  }

  get tag(): string {
    return `${this.holding.rows.textMark(this.row).toString('base64url')}${this.isLatest ? '-' : ''}`
  }
}

/** The answer for a version, in parts. */
export function piecesOf({ columns, chunks }: Holding, row: number): Buffer[] {
  const piece = (at: number): Buffer => {
    const [chunk = 0, start = 0, size = 0] = columns.places.subarray(at, at + PLACE)
    return chunks[chunk]?.subarray(start, start + size) ?? Buffer.alloc(0)
  }
  const at = row * 2 * PLACE
  return [HEAD, piece(at), piece(at + PLACE), endOf(columns.isLatest[row] === 1)]
}
