import { type Stats, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin, type FetchResult, GatewayError, Source, type SyncContext } from 'sallyport'
import { DirectoryWatch, fileFailure, openRegularFile } from 'sallyport/toolkit'
import { z } from 'zod'
import { type DocumentFile, DocumentReader, isDocumentName, UNDATED } from './file-json.js'
import { interval } from './interval.js'

export default definePlugin({
  name: 'source/file',
  api: 1,
  summary:
    'Reads server documents from a file, JSON or YAML, or from all files of a folder, and again whenever they change.',
  provides: [Source],
  options: z.strictObject({
    name: z.string().min(1).describe('the name that registries list it by'),
    path: z
      .string()
      .min(1)
      .describe(
        'a server document, a list of them, or the `{"servers": [...]}` that a registry answers; or a folder of such files',
      ),
    watch: z.boolean().default(true).describe('read it again when it changes'),
    every: interval().optional().describe('also read it at this interval'),
  }),

  setup(gateway, { name, path, watch, every }) {
    const file = new DocumentPath(gateway.path(path), new DocumentReader(MALFORMED))
    gateway.provide(Source, {
      name,
      location: `file ${file.path}`,
      every,
      fetch: (context) => file.read(context),
      ...(watch && { watch: (changed: () => void) => file.watch(changed) }),
    })
  },

  async examine(examination, { path }) {
    const { examineDocuments } = await import('./examine-documents.js')
    await examineDocuments(examination, MALFORMED, (reader) => {
      const file = new DocumentPath(examination.path(path), reader)
      return { location: file.path, fetch: (context) => file.read(context) }
    })
  },
})

const MALFORMED = 'FILE_MALFORMED'
const MISSING = 'missing'

class DocumentPath {
  /** The fingerprint at the last read. */
  private lastSeen: string | undefined

  constructor(
    readonly path: string,
    private readonly documents: DocumentReader,
  ) {}

  async read({ bookmark, signal }: SyncContext): Promise<FetchResult> {
    const { path } = this
    this.lastSeen = MISSING
    try {
      // Taken before the read: the next sync finds a change in between.
      const { files, fingerprint } = await filesAt(path)
      this.lastSeen = fingerprint
      if (fingerprint === bookmark) return { kind: 'unchanged' }
      const documents: DocumentFile[] = []
      for (const file of files) documents.push(await readDocument(file))
      const read = await this.documents.read(documents, signal)
      return { kind: 'whole', ...read, handedOver: true, bookmark: () => fingerprint }
    } catch (cause) {
      if (!(cause instanceof Error) || !('code' in cause) || cause instanceof GatewayError) throw cause
      throw new GatewayError('FILE_UNREADABLE', `cannot read ${path}: ${fileFailure(cause)}`, { cause })
    }
  }

  watch(changed: () => void): () => void {
    const check = async (settled: () => Promise<boolean>): Promise<void> => {
      let fingerprint = await this.fingerprint()
      // Waits for the same version twice: a program that writes a file in place may have written half of it.
      for (let previous: string | undefined; fingerprint !== this.lastSeen && fingerprint !== previous; ) {
        if (!(await settled())) return
        previous = fingerprint
        fingerprint = await this.fingerprint()
      }
      if (fingerprint !== this.lastSeen) changed()
    }
    // A watch is on the parent folder of its path: to watch the files of a folder it needs a path inside.
    const paths = [this.path, ...(isFolder(this.path) ? [join(this.path, 'any')] : [])]
    const watches = paths.map((path) => new DirectoryWatch(path, { pollEvery: 10_000, check }))
    return () => {
      for (const watch of watches) watch.close()
    }
  }

  private fingerprint(): Promise<string> {
    return filesAt(this.path).then(
      ({ fingerprint }) => fingerprint,
      () => MISSING,
    )
  }
}

/** The files at a path, and their version. */
export interface FoundFiles {
  readonly files: readonly string[]
  /** Changes whenever a file is written, added or removed. */
  readonly fingerprint: string
}

/** A file, or the JSON and YAML files of a folder, sorted by name. */
export async function filesAt(path: string): Promise<FoundFiles> {
  const own = await stat(path)
  if (!own.isDirectory()) return { files: [path], fingerprint: fingerprintOf(own) }

  const names = (await readdir(path)).filter((name) => isDocumentName(name) && !name.startsWith('.')).sort()
  const found: { readonly file: string; readonly facts: Stats }[] = []
  for (const name of names) {
    const file = join(path, name)
    const facts = await stat(file)
    if (facts.isFile()) found.push({ file, facts })
  }
  if (found.length === 0)
    throw new GatewayError('FILE_UNREADABLE', `there is no JSON or YAML file in ${path}`)
  return {
    files: found.map(({ file }) => file),
    fingerprint: found.map(({ file, facts }) => `${fingerprintOf(facts)} ${file}`).join('\n'),
  }
}

export async function readDocument(path: string): Promise<DocumentFile> {
  const file = await openRegularFile(path)
  try {
    const { size } = await file.stat()
    // Reads into one buffer: joining the chunks of a large catalogue would take its memory twice.
    const content = Buffer.allocUnsafeSlow(size)
    let filled = 0
    while (filled < size) {
      const { bytesRead } = await file.read(content, filled, size - filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return { path, bytes: content.subarray(0, filled) }
  } finally {
    await file.close()
  }
}

export const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

const fingerprintOf = ({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string =>
  [UNDATED, dev, ino, size, mtimeMs, ctimeMs].join(' ')
