import { type Columns, PLACE, STATUSES, type Version } from './columns.js'
import { DIGEST_SIZE } from './digest.js'
import { bufferOver, NameList } from './names.js'

/** Reads columns. */
export class Rows {
  readonly names: NameList
  readonly #versions: Buffer
  readonly #digests: Buffer

  constructor(readonly columns: Columns) {
    this.names = new NameList(columns)
    this.#versions = bufferOver(columns.versions)
    this.#digests = bufferOver(columns.digests)
  }

  /** How many versions there are. */
  get size(): number {
    return this.columns.status.length
  }

  first(server: number): number {
    return this.columns.firstVersion[server] ?? this.size
  }

  /** One behind the last version of a server. */
  end(server: number): number {
    return this.first(server + 1)
  }

  /** The server that a version belongs to. */
  serverOf(row: number): number {
    let low = 0
    let high = this.names.length - 1
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if (this.first(middle) <= row) low = middle
      else high = middle - 1
    }
    return low
  }

  version(row: number): string {
    const { versionStart } = this.columns
    return this.#versions.toString('utf8', versionStart[row], versionStart[row + 1])
  }

  isVersion(row: number, version: Buffer): boolean {
    const { versionStart } = this.columns
    const [start = 0, end = 0] = [versionStart[row], versionStart[row + 1]]
    return (
      end - start === version.length && this.#versions.compare(version, 0, version.length, start, end) === 0
    )
  }

  mark(row: number): string {
    return this.digest(row, 0)
  }

  /** The digest of the text. */
  textMark(row: number): Buffer {
    const start = (row * 3 + 2) * DIGEST_SIZE
    return this.#digests.subarray(start, start + DIGEST_SIZE)
  }

  at(row: number): Version {
    const { columns } = this
    return {
      version: this.version(row),
      status: STATUSES[columns.status[row] ?? 0] ?? 'active',
      publishedAt: columns.publishedAt[row] ?? 0,
      updatedAt: columns.updatedAt[row] ?? 0,
      mark: this.digest(row, 0),
      document: this.digest(row, 1),
      text: this.digest(row, 2),
      places: [...columns.places.subarray(row * 2 * PLACE, (row + 1) * 2 * PLACE)],
    }
  }

  private digest(row: number, which: number): string {
    const start = (row * 3 + which) * DIGEST_SIZE
    return this.#digests.toString('latin1', start, start + DIGEST_SIZE)
  }
}
