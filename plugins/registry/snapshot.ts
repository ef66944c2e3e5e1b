import type { RegistryView, ServerPage, ServerQuery, ServerVersions } from 'sallyport'
import { STATUSES } from './columns.js'
import { cursorOf, positionOf } from './cursor.js'
import { HeldVersion } from './held-version.js'
import type { HeldServer, Layers } from './layers.js'
import { newestFirst, orderKey } from './version-order.js'

/** A registry at one moment, in memory. */
export class Snapshot implements RegistryView {
  constructor(
    readonly name: string,
    private readonly layers: Layers,
  ) {}

  get size(): number {
    return this.layers.size
  }

  versions(serverName: string): ServerVersions {
    const index = this.layers.names.find(serverName)
    return index === undefined ? [] : versionsOf(this.layers.at(index), serverName)
  }

  list(query: ServerQuery): ServerPage | undefined {
    const start = query.cursor === undefined ? { server: 0, version: 0 } : this.after(query.cursor)
    if (start === undefined) return undefined
    const { names } = this.layers
    const part = Buffer.from((query.search ?? '').toLowerCase())
    const matches = matcher(query)
    const found: HeldVersion[] = []
    for (
      let index = names.search(part, start.server);
      index < names.length;
      index = names.search(part, index + 1)
    ) {
      const { holding, server } = this.layers.at(index)
      if ((holding.columns.changedAt[server] ?? 0) < matches.since) continue
      const first = holding.rows.first(server) + (index === start.server ? start.version : 0)
      const end = holding.rows.end(server)
      for (let row = first; row < end; row++) {
        if (!matches.row({ holding, server }, row)) continue
        if (found.length === query.limit) return pageOf(found, true)
        found.push(new HeldVersion(holding, names.at(index), row))
      }
    }
    return pageOf(found, false)
  }

  /** The first place behind the one that a cursor names, whether what stood there still does or not. */
  private after(cursor: string): { server: number; version: number } | undefined {
    const position = positionOf(cursor)
    if (position === undefined) return undefined
    const { names } = this.layers
    const server = names.place(position.name)
    if (server === names.length || names.at(server) !== position.name) return { server, version: 0 }
    const key = orderKey(position)
    const there = versionsOf(this.layers.at(server), position.name)
    const version = there.findIndex((held) => newestFirst(orderKey(held), key) > 0)
    return { server, version: version === -1 ? there.length : version }
  }
}

function versionsOf({ holding, server }: HeldServer, name: string): HeldVersion[] {
  const first = holding.rows.first(server)
  const count = holding.rows.end(server) - first
  return Array.from({ length: count }, (_, index) => new HeldVersion(holding, name, first + index))
}

function pageOf(found: readonly HeldVersion[], more: boolean): ServerPage {
  const last = found.at(-1)
  return more && last !== undefined ? { versions: found, nextCursor: cursorOf(last) } : { versions: found }
}

const DELETED = STATUSES.indexOf('deleted')

/** What a query asks of a version; nothing is made to find out. */
function matcher({ updatedSince: since = -Infinity, version, includeDeleted }: ServerQuery) {
  const wanted = version === undefined || version === 'latest' ? undefined : Buffer.from(version)
  const row = ({ holding: { columns, rows } }: HeldServer, row: number): boolean =>
    (columns.updatedAt[row] ?? 0) >= since &&
    (includeDeleted || columns.status[row] !== DELETED) &&
    (version !== 'latest' || columns.isLatest[row] === 1) &&
    (wanted === undefined || rows.isVersion(row, wanted))
  return { since, row }
}
