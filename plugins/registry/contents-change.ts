import type { ContentsChange, StoredDocument, VersionKey } from 'sallyport'
import type { Server, SourceContents } from './source-contents.js'
import type { StoredVersion } from './stored-version.js'

/** Every version, for a store. */
export const documentsOf = ({ servers }: SourceContents): Iterable<StoredDocument> =>
  repeatable(function* () {
    for (const { versions } of servers.values()) yield* versions
  })

/** What a sync changed, found while it is read: a list of it would take memory. */
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

/** The versions that are only in the first of two, and those that are in both and differ. */
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
