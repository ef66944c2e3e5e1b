import type { Digest } from './digest.js'
import type { SourceContents } from './source-contents.js'
import type { StoredVersion } from './stored-version.js'
import type { TimeSlice } from './time-slice.js'

/** The versions that a source had before this sync. */
export class PreviousVersions {
  // Made for the servers that are asked for, as one may have very many versions.
  private readonly byVersion = new Map<string, ReadonlyMap<string, StoredVersion>>()

  private constructor(
    readonly contents: SourceContents,
    /** By the bytes that the source gave. */
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

  /** Whether it is one of them, not one that replaces one. */
  has(stored: StoredVersion): boolean {
    return this.byDigest.get(stored.sourceDigest) === stored
  }

  find(name: string, version: string): StoredVersion | undefined {
    return this.versionsOf(name)?.get(version)
  }

  private versionsOf(name: string): ReadonlyMap<string, StoredVersion> | undefined {
    const server = this.contents.servers.get(name)
    const known = this.byVersion.get(name)
    if (server === undefined || known !== undefined) return known
    const made = new Map(server.versions.map((each) => [each.version, each]))
    this.byVersion.set(name, made)
    return made
  }
}
