import { createHash, hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { CatalogueStore, ContentsChange, SourceStore, StoredContents, StoredDocument } from 'sallyport'
import { userFolder } from 'sallyport/toolkit'
import { z } from 'zod'
import { removeAbandonedDrafts, replaceFile } from './files/atomic-file.js'

const trailer = z.object({
  format: z.literal(1),
  place: z.string(),
  sha256: z.string(),
  bookmark: z.string().optional(),
  revision: z.number().default(0),
})

const NEWLINE = 0x0a
const CHUNK = 64 * 1024

/** Stores the state of each source in a file of a directory; without one, in that of the user. */
export function stateFiles(directory = join(userFolder('state', process.env), 'registry')) {
  return { open: ({ name, place }: SourceName): StateFile => new StateFile(directory, name, place) }
}

type SourceName = Parameters<CatalogueStore['open']>[0]

/**
 * The last good state of one source in one file: the documents, and in its last line their checksum. It is replaced by
 * an atomic rename, so a kill at any moment leaves the old file or the new one, whole.
 */
export class StateFile implements SourceStore {
  readonly path: string

  constructor(
    directory: string,
    name: string,
    private readonly place: string,
  ) {
    // Each place has its own file: the state of one must never be served as that of another.
    this.path = join(directory, `${fileName(name)}-${shortHash(place)}.state`)
  }

  async read(since: number | undefined, signal: AbortSignal): Promise<StoredContents | undefined> {
    if (since !== undefined) return undefined
    const bytes = await readFile(this.path, { signal }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (bytes === undefined) return undefined
    const end = bytes.lastIndexOf(NEWLINE, -2)
    if (end === -1) throw this.unusable('is incomplete')
    const { place, sha256, ...stored } = trailer.parse(JSON.parse(bytes.toString('utf8', end + 1)))
    const payload = bytes.subarray(0, end)
    if (place !== this.place) throw this.unusable('belongs to another place')
    if ((await digest(payload, signal)) !== sha256) throw this.unusable('has a wrong checksum')
    return {
      kind: 'whole',
      payloads: [payload],
      handedOver: true,
      bookmark: stored.bookmark,
      revision: stored.revision,
    }
  }

  async write(change: ContentsChange, signal: AbortSignal): Promise<number> {
    await this.save(change, 0, signal)
    return 0
  }

  /** Replaces the file. `revision`: of a store that has the state, too. */
  async save(
    contents: Pick<ContentsChange, 'all' | 'bookmark'>,
    revision: number,
    signal: AbortSignal,
  ): Promise<void> {
    await removeAbandonedDrafts(dirname(this.path), `${basename(this.path)}.`)
    await replaceFile(this.path, this.content(contents, revision, signal))
  }

  /** In chunks, each of which overwrites the one before. */
  private *content(
    { all, bookmark }: Pick<ContentsChange, 'all' | 'bookmark'>,
    revision: number,
    signal: AbortSignal,
  ): Generator<Uint8Array> {
    const hash = createHash('sha256')
    for (const chunk of chunksOf(all)) {
      signal.throwIfAborted()
      hash.update(chunk)
      yield chunk
    }
    const more = revision === 0 ? {} : { revision }
    const last = { format: 1, place: this.place, sha256: hash.digest('hex'), bookmark, ...more }
    yield Buffer.from(`\n${JSON.stringify(last)}\n`)
  }

  private unusable(why: string): Error {
    return new Error(`${this.path} ${why}`)
  }
}

// A file name has 255 bytes at most, and that of a temporary file has 36 after this part.
const LONGEST_NAME = 219

/** Of any name, also one that is too long for a file system. */
function fileName(source: string): string {
  const encoded = encodeURIComponent(source.toWellFormed())
  return encoded.length <= LONGEST_NAME ? encoded : `${encoded.slice(0, 80)}-${shortHash(source)}`
}

const shortHash = (text: string): string => hash('sha256', text).slice(0, 12)

/** The documents as a JSON list. */
function* chunksOf(documents: Iterable<StoredDocument>): Generator<Buffer> {
  const out = Buffer.allocUnsafe(CHUNK)
  let used = 0
  for (const part of partsOf(documents)) {
    for (let at = 0; at < part.length; ) {
      const taken = part.subarray(at, at + CHUNK - used)
      out.set(taken, used)
      at += taken.length
      used += taken.length
      if (used < CHUNK) continue
      yield out
      used = 0
    }
  }
  yield out.subarray(0, used)
}

function* partsOf(documents: Iterable<StoredDocument>): Generator<Uint8Array> {
  let separator = OPEN
  for (const { parts } of documents) {
    yield separator
    yield* parts
    separator = COMMA
  }
  if (separator === OPEN) yield OPEN
  yield CLOSE
}

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')

/** Requests are answered between the chunks. */
async function digest(bytes: Uint8Array, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < bytes.length; at += CHUNK) {
    hash.update(bytes.subarray(at, at + CHUNK))
    await setImmediate(undefined, { signal })
  }
  return hash.digest('hex')
}
