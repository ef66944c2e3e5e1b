import { type Stats, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { GatewayError } from 'sallyport'
import { openRegularFile } from 'sallyport/toolkit'
import { type DocumentFile, isDocumentName, UNDATED } from './file-json.js'

/** The files at a path, and their version. */
export interface FoundFiles {
  readonly files: readonly string[]
  /** Changes whenever one of them is written, added or removed. */
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
    // Into one buffer: joining the chunks of a large catalogue would take its memory twice.
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
