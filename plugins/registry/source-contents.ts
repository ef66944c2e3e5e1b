import { sorted } from './sorted.js'
import { StoredVersion } from './stored-version.js'
import type { TimeSlice } from './time-slice.js'
import { newestFirst, orderKey } from './version-order.js'

export interface Server {
  readonly name: string
  /** Newest first. */
  readonly versions: readonly StoredVersion[]
  /** The latest change of any version. */
  readonly changedAt: number
}

/** The versions of one source at one moment. It never changes: a sync makes another, with the servers that are as before. */
export interface SourceContents {
  readonly servers: ReadonlyMap<string, Server>
  /** How many versions there are. */
  readonly size: number
}

export const EMPTY: SourceContents = { servers: new Map(), size: 0 }

export async function serverOf(
  name: string,
  versions: readonly StoredVersion[],
  timeSlice: TimeSlice,
): Promise<Server> {
  const ordered = versions.length === 1 ? versions : await inOrder(versions, timeSlice)
  const latest = ordered.find(({ status }) => status !== 'deleted') ?? ordered[0]
  return {
    name,
    versions: ordered.map((version) => marked(version, version === latest)),
    changedAt: versions.reduce((last, version) => Math.max(last, version.changedAt), 0),
  }
}

async function inOrder(
  versions: readonly StoredVersion[],
  timeSlice: TimeSlice,
): Promise<readonly StoredVersion[]> {
  const keyed = versions.map((version) => ({ version, key: orderKey(version) }))
  const ordered = await sorted(keyed, (a, b) => newestFirst(a.key, b.key), timeSlice)
  return ordered.map(({ version }) => version)
}

const marked = (version: StoredVersion, isLatest: boolean): StoredVersion =>
  version.isLatest === isLatest ? version : new StoredVersion(version, isLatest)

/** Frees buffers of which less than half is in use: a version that is left in one is copied. */
export async function freeSparseBuffers({ servers }: SourceContents, timeSlice: TimeSlice): Promise<void> {
  const used = new Map<ArrayBufferLike, number>()
  for (const { versions } of servers.values()) {
    for (const { body } of versions) used.set(body.buffer, (used.get(body.buffer) ?? 0) + body.length)
    if (timeSlice.isOver) await timeSlice.yield()
  }
  for (const { versions } of servers.values()) {
    for (const version of versions) {
      const { buffer } = version.body
      if ((used.get(buffer) ?? 0) * 2 < buffer.byteLength) version.moveOut()
    }
    if (timeSlice.isOver) await timeSlice.yield()
  }
}
