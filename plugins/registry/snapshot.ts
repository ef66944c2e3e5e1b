import type { RegistryView, ServerPage, ServerQuery, ServerVersion, ServerVersions } from 'sallyport'
import type { Breath } from './breath.js'
import { cursorOf, positionOf } from './cursor.js'
import type { HeldVersion } from './held-version.js'
import { type HeldServer, type Holding, holdingOf, NOTHING } from './holding.js'
import { byText, newestFirst, orderKey } from './version-order.js'

/** A registry at one moment, in memory. */
export class Snapshot implements RegistryView {
  constructor(
    readonly name: string,
    private readonly holding: Holding,
  ) {}

  get size(): number {
    return this.holding.size
  }

  versions(serverName: string): ServerVersions {
    return this.holding.byName.get(serverName)?.versions ?? []
  }

  list(query: ServerQuery): ServerPage | undefined {
    const start = query.cursor === undefined ? { server: 0, version: 0 } : this.after(query.cursor)
    if (start === undefined) return undefined
    const matches = matcher(query)
    const found: HeldVersion[] = []
    const { servers } = this.holding
    for (let index = start.server; index < servers.length; index++) {
      const server = servers[index]
      if (server === undefined || !matches.server(server)) continue
      const from = index === start.server ? start.version : 0
      for (let at = from; at < server.versions.length; at++) {
        const held = server.versions[at]
        if (held === undefined || !matches.version(held)) continue
        if (found.length === query.limit) return pageOf(found, true)
        found.push(held)
      }
    }
    return pageOf(found, false)
  }

  /** The first place behind the one that a cursor names, whether what stood there still does or not. */
  private after(cursor: string): { server: number; version: number } | undefined {
    const position = positionOf(cursor)
    if (position === undefined) return undefined
    const { servers } = this.holding
    const server = firstIndex(
      servers.length,
      (index) => byText(servers[index]?.name ?? '', position.name) >= 0,
    )
    const there = servers[server]
    if (there === undefined || there.name !== position.name) return { server, version: 0 }
    const key = orderKey(position)
    const version = there.versions.findIndex((held) => newestFirst(orderKey(held), key) > 0)
    return { server, version: version === -1 ? there.versions.length : version }
  }
}

function pageOf(found: readonly HeldVersion[], more: boolean): ServerPage {
  const last = found.at(-1)
  return more && last !== undefined ? { versions: found, nextCursor: cursorOf(last) } : { versions: found }
}

/** The smallest index for which `holds`, where it holds for all that follow. */
function firstIndex(length: number, holds: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

interface Matcher {
  server(server: HeldServer): boolean
  version(held: HeldVersion): boolean
}

function matcher({ search = '', updatedSince = -Infinity, version, includeDeleted }: ServerQuery): Matcher {
  const part = search.toLowerCase()
  const wanted = (held: ServerVersion): boolean =>
    version === undefined || (version === 'latest' ? held.isLatest : held.version === version)
  return {
    server: ({ searchable, updatedAt }) => updatedAt >= updatedSince && searchable.includes(part),
    version: (held) =>
      held.updatedAt >= updatedSince && (includeDeleted || held.status !== 'deleted') && wanted(held),
  }
}

/** Lays sources over each other: the first that has a name gives all versions of it. */
export async function layered(holdings: readonly Holding[], breath: Breath): Promise<Holding> {
  const [first = NOTHING, ...others] = holdings
  if (others.length === 0) return first
  const byName = new Map(first.byName)
  for (const { servers } of others) {
    for (const server of servers) {
      if (!byName.has(server.name)) byName.set(server.name, server)
      if (breath.due) await breath.take()
    }
  }
  return holdingOf(byName, breath)
}
