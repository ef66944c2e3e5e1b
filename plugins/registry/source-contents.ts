import type { ContentsChange, StoredDocument, VersionKey } from 'sallyport'
import { type Digest, marked, type StoredVersion } from './stored-version.js'
import { sorted, type TimeSlice } from './time-slice.js'
import { newestFirst, orderKey } from './version-order.js'

export interface Server {
  readonly name: string
  /** Newest first. */
  readonly versions: readonly StoredVersion[]
  /** The latest change of any version. */
  readonly changedAt: number
}

/** The versions of one source at one moment. Immutable: a sync makes a new one, which shares the unchanged servers. */
export interface SourceContents {
  readonly servers: ReadonlyMap<string, Server>
  /** The number of versions. */
  readonly size: number
}

export const EMPTY: SourceContents = { servers: new Map(), size: 0 }

export async function serverOf(
  name: string,
  versions: readonly StoredVersion[],
  timeSlice: TimeSlice,
): Promise<Server> {
  const keyed = versions.map((version) => ({ version, key: orderKey(version) }))
  const ordered = await sorted(keyed, (a, b) => newestFirst(a.key, b.key), timeSlice)
  const latest = ordered.find(({ version }) => version.status !== 'deleted') ?? ordered[0]
  return {
    name,
    versions: ordered.map((each) => marked(each.version, each === latest)),
    changedAt: versions.reduce((last, version) => Math.max(last, version.changedAt), 0),
  }
}

/** All versions, for a store. */
export const documentsOf = ({ servers }: SourceContents): Iterable<StoredDocument> =>
  repeatable(function* () {
    for (const { versions } of servers.values()) yield* versions
  })

/** The changes of a sync, found during iteration: a list of them would take memory. */
export function changeOf(
  before: SourceContents,
  after: SourceContents,
  bookmark: string | undefined,
): ContentsChange {
  return {
    changed: repeatable(() =>
      difference(after, before, (version, other) => version.bodyTag !== other.bodyTag),
    ),
    removed: repeatable(() => difference(before, after, () => false)),
    all: documentsOf(after),
    bookmark,
  }
}

/** The versions that are only in the first contents, or differ in the second. */
function* difference(
  first: SourceContents,
  second: SourceContents,
  differ: (version: StoredVersion, other: StoredVersion) => boolean,
): Generator<StoredDocument & VersionKey> {
  for (const server of first.servers.values()) {
    const others = second.servers.get(server.name)
    if (server === others) continue
    const byVersion = versionsOf(others)
    for (const version of server.versions) {
      const other = byVersion.get(version.version)
      if (other === undefined || differ(version, other)) yield version
    }
  }
}

const versionsOf = (server: Server | undefined): ReadonlyMap<string, StoredVersion> =>
  new Map(server?.versions.map((each) => [each.version, each]))

const repeatable = <T>(iterate: () => Iterator<T>): Iterable<T> => ({ [Symbol.iterator]: iterate })

/** The versions that a source had before this sync. */
export class PreviousVersions {
  // Made only for the requested servers, as a server may have very many versions.
  private readonly byVersion = new Map<string, ReadonlyMap<string, StoredVersion>>()

  private constructor(
    readonly contents: SourceContents,
    /** Finds a version by the bytes that the source gave. */
    readonly byDigest: ReadonlyMap<Digest, StoredVersion>,
  ) {}

  static async of(contents: SourceContents, timeSlice: TimeSlice): Promise<PreviousVersions> {
    const byDigest = new Map<Digest, StoredVersion>()
    for (const { versions } of contents.servers.values()) {
      for (const version of versions) byDigest.set(version.sourceDigest, version)
      if (timeSlice.isOver) await timeSlice.yield()
    }
    return new PreviousVersions(contents, byDigest)
  }

  /** Whether a version is one of the previous versions, and not a replacement. */
  has(stored: StoredVersion): boolean {
    return this.byDigest.get(stored.sourceDigest) === stored
  }

  find(name: string, version: string): StoredVersion | undefined {
    const server = this.contents.servers.get(name)
    if (server === undefined) return undefined
    const versions = this.byVersion.get(name) ?? versionsOf(server)
    this.byVersion.set(name, versions)
    return versions.get(version)
  }
}
