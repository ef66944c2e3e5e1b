import type { FetchedDocuments, RefusedDocument, UnreadPart, VersionKey } from 'sallyport'
import type { Batch } from './parse-thread.js'
import type { Fault, KnownDocument } from './parser.js'
import { type Refusals, refusalsOf, stillRefused, textOf } from './refusals.js'
import { type PreviousVersions, type Server, type SourceContents, serverOf } from './source-contents.js'
import {
  bodyTagOf,
  type Dates,
  type ParsedVersion,
  type StoredVersion,
  storedVersion,
} from './stored-version.js'
import type { TimeSlice } from './time-slice.js'

/** The facts about a sync, apart from its documents. */
export interface SyncInput extends Pick<FetchedDocuments, 'kind' | 'labels' | 'unread'> {
  /** The date of documents that have none. */
  readonly asOf: Date
  /** A version keeps the dates that it was stored with, until it changes. */
  readonly keepsDates: boolean
  /** In a sync of changes: the versions that the source has removed. */
  readonly removed?: readonly VersionKey[] | undefined
  /** The documents that the previous sync refused. */
  readonly refused: readonly RefusedDocument[]
}

export interface SyncOutput {
  /** Undefined when nothing changed. */
  readonly contents: SourceContents | undefined
  /** How many documents were accepted. */
  readonly accepted: number
  readonly refusals: Refusals
}

/** By name, and then by version. */
type Versions = Map<string, Map<string, StoredVersion>>

/** Merges the documents of a sync with the previous contents of the source, which stay unmodified. */
export async function nextContents(
  batches: AsyncIterable<Batch>,
  input: SyncInput,
  previous: PreviousVersions,
  timeSlice: TimeSlice,
): Promise<SyncOutput> {
  const { given, refused } = await takeAll(batches, input, previous, timeSlice)
  const accepted = count(given)
  const isHeld = (name: string, version: string): boolean =>
    given.get(name)?.has(version) === true || previous.find(name, version) !== undefined
  const lasting = input.kind === 'changes' ? stillRefused(input.refused, refused, isHeld) : []
  const refusals = refusalsOf([...lasting, ...refused], input.refused)
  if (input.kind === 'whole') addKept(given, input.unread ?? [], previous)
  const isChanged = await differs(given, input, previous, timeSlice)
  const contents = isChanged ? await merged(given, input, previous, timeSlice) : undefined
  return { contents, accepted, refusals }
}

const MOST_REFUSED = 10_000

async function takeAll(
  batches: AsyncIterable<Batch>,
  input: SyncInput,
  previous: PreviousVersions,
  timeSlice: TimeSlice,
) {
  const { kind, labels, unread = [] } = input
  const given: Versions = new Map()
  const refused: RefusedDocument[] = unread.map(({ name, reason }) => ({ name, reason }))
  for await (const batch of batches) {
    for (const { payload, index, parsed } of batch.documents) {
      if (refused.length >= MOST_REFUSED) throw tooManyRefused(refused)
      const fault =
        'refused' in parsed
          ? parsed.refused
          : added(given, versionOf(parsed, batch.heads, previous, input), kind === 'changes')
      if (fault !== undefined) refused.push(located(fault, labels?.[payload], index))
      if (timeSlice.isOver) await timeSlice.yield()
    }
    // Frees the buffer now: the unused heads of a large source would take as much memory as its versions.
    batch.heads.buffer.transfer(0)
  }
  return { given, refused }
}

const tooManyRefused = ([first]: readonly RefusedDocument[]): Error =>
  new Error(`more than ${MOST_REFUSED} of its documents are refused; ${textOf(first)}`)

const located = (
  { name, reason, path }: Fault,
  file: string | undefined,
  document: number,
): RefusedDocument => ({
  name,
  reason,
  ...(file !== undefined && { position: { file, document, path } }),
})

function versionOf(
  parsed: ParsedVersion | KnownDocument,
  heads: Uint8Array,
  previous: PreviousVersions,
  { asOf, keepsDates }: SyncInput,
): StoredVersion {
  if ('version' in parsed) {
    const before = previous.find(parsed.name, parsed.version)
    const kept = keepsDates ? before : undefined
    const publishedAt =
      parsed.publishedAt ?? (kept === undefined ? asOf : new Date(kept.publishedAt)).toISOString()
    const dates = (changedAt: string): Dates => ({
      publishedAt,
      updatedAt: parsed.updatedAt ?? changedAt,
    })
    if (kept !== undefined) {
      // A version that never changed keeps the date as the source wrote it, perhaps in another form of ISO 8601.
      const possible = [publishedAt, new Date(kept.updatedAt).toISOString()]
      if (possible.some((date) => bodyTagOf(parsed, dates(date)) === kept.bodyTag)) return kept
    }
    const own = dates(kept === undefined ? publishedAt : asOf.toISOString())
    const bodyTag = bodyTagOf(parsed, own)
    // Other white space in the source is no change.
    return before?.bodyTag === bodyTag ? before : storedVersion(parsed, heads, own, bodyTag)
  }
  const known = previous.byDigest.get(parsed.known)
  if (known === undefined)
    throw new Error('the parser reported a known document that the source did not have before')
  return known
}

/** Why the version could not be added. */
function added(given: Versions, stored: StoredVersion, mayRepeat: boolean): Fault | undefined {
  if (put(given, stored, mayRepeat)) return undefined
  const reason = 'given twice by this source; the first is kept'
  return { name: `${stored.name}@${stored.version}`, reason, path: [] }
}

// Pages that shift between two requests show a version twice, so among changes the later one replaces the earlier.
function put(given: Versions, stored: StoredVersion, mayRepeat: boolean): boolean {
  const versions = given.get(stored.name)
  if (versions === undefined) given.set(stored.name, new Map([[stored.version, stored]]))
  else if (versions.has(stored.version) && !mayRepeat) return false
  else versions.set(stored.version, stored)
  return true
}

const count = (given: Versions): number => [...given.values()].reduce((sum, { size }) => sum + size, 0)

/** Adds the previous versions of the documents that could not be read. */
function addKept(given: Versions, unread: readonly UnreadPart[], previous: PreviousVersions): void {
  if (unread.length === 0) return
  const isKnown = unread.every(({ servers }) => servers !== undefined)
  const kept = new Set(unread.flatMap(({ servers = [] }) => servers))
  for (const { name, versions } of previous.contents.servers.values()) {
    if (isKnown && !kept.has(name)) continue
    for (const stored of versions) put(given, stored, false)
  }
}

async function differs(
  given: Versions,
  { kind, removed = [] }: SyncInput,
  previous: PreviousVersions,
  timeSlice: TimeSlice,
): Promise<boolean> {
  if (removed.some(({ name, version }) => previous.find(name, version) !== undefined)) return true
  for (const versions of given.values()) {
    for (const stored of versions.values()) if (!previous.has(stored)) return true
    if (timeSlice.isOver) await timeSlice.yield()
  }
  return kind === 'whole' && count(given) !== previous.contents.size
}

async function merged(
  given: Versions,
  { kind, removed = [] }: SyncInput,
  previous: PreviousVersions,
  timeSlice: TimeSlice,
): Promise<SourceContents> {
  const gone = new Map<string, Set<string>>()
  for (const { name, version } of removed) {
    gone.set(name, (gone.get(name) ?? new Set()).add(version))
    if (!given.has(name)) given.set(name, new Map())
  }
  const servers = new Map<string, Server>()
  if (kind === 'changes') {
    for (const server of previous.contents.servers.values()) {
      servers.set(server.name, server)
      if (timeSlice.isOver) await timeSlice.yield()
    }
  }
  for (const [name, versions] of given) {
    const server = previous.contents.servers.get(name)
    const isOther = ({ version }: StoredVersion): boolean =>
      !versions.has(version) && gone.get(name)?.has(version) !== true
    const others = kind === 'changes' ? server?.versions.filter(isOther) : []
    const all = [...(others ?? []), ...versions.values()]
    const isSame = server?.versions.length === all.length && all.every((stored) => previous.has(stored))
    if (all.length === 0) servers.delete(name)
    else servers.set(name, isSame ? server : await serverOf(name, all, timeSlice))
    if (timeSlice.isOver) await timeSlice.yield()
  }
  const size = [...servers.values()].reduce((sum, server) => sum + server.versions.length, 0)
  return { servers, size }
}
