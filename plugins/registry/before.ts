import type { Columns, Version } from './columns.js'
import type { Digest } from './digest.js'
import type { NamedVersion } from './intake.js'
import { Rows } from './rows.js'

// Of fewer versions one is found as quickly by looking at each.
const WORTH_AN_INDEX = 32

/** What a source had before this sync. */
export class Before {
  readonly rows: Rows
  readonly #made = new Map<Digest, number>()
  readonly #indexes = new Map<number, ReadonlyMap<string, number>>()

  constructor(columns: Columns) {
    this.rows = new Rows(columns)
    for (let row = 0; row < this.rows.size; row++) this.#made.set(this.rows.mark(row), row)
  }

  /** The version that was made of the bytes with this mark, so that they need not be read again. */
  made(mark: Digest): NamedVersion | undefined {
    const row = this.#made.get(mark)
    return row === undefined
      ? undefined
      : { name: this.rows.names.at(this.rows.serverOf(row)), held: this.rows.at(row) }
  }

  find(name: string, version: string): Version | undefined {
    const server = this.rows.names.find(name)
    const row = server === undefined ? undefined : this.rowOf(server, version)
    return row === undefined ? undefined : this.rows.at(row)
  }

  versionsOf(server: number): Version[] {
    const [first, end] = [this.rows.first(server), this.rows.end(server)]
    return Array.from({ length: end - first }, (_, index) => this.rows.at(first + index))
  }

  private rowOf(server: number, version: string): number | undefined {
    const [first, end] = [this.rows.first(server), this.rows.end(server)]
    if (end - first >= WORTH_AN_INDEX) return this.indexOf(server).get(version)
    const wanted = Buffer.from(version)
    for (let row = first; row < end; row++) if (this.rows.isVersion(row, wanted)) return row
    return undefined
  }

  /** For a source that gives one server very many versions. */
  private indexOf(server: number): ReadonlyMap<string, number> {
    const known = this.#indexes.get(server)
    if (known !== undefined) return known
    const index = new Map<string, number>()
    for (let row = this.rows.first(server); row < this.rows.end(server); row++) {
      index.set(this.rows.version(row), row)
    }
    this.#indexes.set(server, index)
    return index
  }
}
