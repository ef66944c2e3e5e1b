import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Problem } from 'sallyport'
import { fileFailure } from 'sallyport/toolkit'

/** A document, and the path that named or found it. */
export interface ServerFile {
  readonly file: string
  readonly bytes: Uint8Array
}

/** The default limit of registries. */
const MAX_BYTES = 256 * 1024
// Installed and generated files are not published.
const IGNORED_FOLDERS = new Set(['node_modules', '.git'])

/** Reads the named files, and the server documents in the named folders. */
export async function readServerFiles(
  names: readonly string[],
  stdin: Readable,
): Promise<{ readonly files: readonly ServerFile[]; readonly problems: readonly Problem[] }> {
  const files: ServerFile[] = []
  const problems: Problem[] = []
  const add = async (file: string): Promise<void> => {
    try {
      const bytes = file === '-' ? withinLimit(await buffer(stdin)) : await readServerFile(file)
      files.push({ file, bytes })
    } catch (error) {
      problems.push({ place: file === '-' ? 'standard input' : file, message: fileFailure(error) })
    }
  }
  for (const name of new Set(names)) {
    const found = await filesIn(name)
    if ('problem' in found) problems.push(found.problem)
    else for (const file of found.files) await add(file)
  }
  return { files, problems }
}

/** Reads a document that is not larger than the default limit of registries. */
export const readServerFile = async (file: string): Promise<Buffer> => withinLimit(await readFile(file))

function withinLimit(bytes: Buffer): Buffer {
  if (bytes.byteLength <= MAX_BYTES) return bytes
  throw new Error(`at most ${MAX_BYTES} bytes are expected, it has ${bytes.byteLength}`)
}

async function filesIn(
  name: string,
): Promise<{ readonly files: readonly string[] } | { readonly problem: Problem }> {
  if (name === '-') return { files: [name] }
  if (/\.ya?ml$/i.test(name)) {
    const message = 'is YAML, and JSON is expected: the official command line publishes no other'
    return { problem: { place: name, message } }
  }
  try {
    if (!(await stat(name)).isDirectory()) return { files: [name] }
    const files = await serverFilesBelow(name)
    const message = 'this folder holds no server.json, and no other JSON file with the $schema of one'
    return files.length === 0 ? { problem: { place: name, message } } : { files }
  } catch (error) {
    return { problem: { place: name, message: fileFailure(error) } }
  }
}

async function serverFilesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const found: string[] = []
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && !IGNORED_FOLDERS.has(entry.name)) found.push(...(await serverFilesBelow(path)))
    else if (entry.isFile() && (await isServerFile(path))) found.push(path)
  }
  return found
}

/** Recognizes a document by its name, or by the schema that it names. */
async function isServerFile(path: string): Promise<boolean> {
  if (basename(path) === 'server.json') return true
  if (!path.endsWith('.json') || (await stat(path)).size > MAX_BYTES) return false
  return /"\$schema"\s*:\s*"[^"]*\/server\.schema\.json"/.test(await readFile(path, 'utf8'))
}
