import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rename, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

type Content = string | Iterable<Uint8Array>

const DRAFT_SUFFIX = '.tmp'
const DRAFT_MAX_AGE = 3_600_000

/** Replaces a file by a rename, readable by this user only: after a kill it is the old one or the new one. */
export async function replaceFile(path: string, content: Content): Promise<void> {
  const draft = await writeDraft(path, content)
  try {
    await rename(draft, path)
    await syncDirectory(dirname(path))
  } catch (error) {
    await unlink(draft).catch(() => {})
    throw error
  }
}

/** Writes a synced file with a unique name next to `path`, which the caller renames, links or removes. */
export async function writeDraft(path: string, content: Content): Promise<string> {
  const draft = `${path}.${randomBytes(6).toString('hex')}${DRAFT_SUFFIX}`
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await open(draft, 'wx', 0o600)
  try {
    await writeFile(file, content)
    await file.sync()
  } catch (error) {
    await unlink(draft).catch(() => {})
    throw error
  } finally {
    await file.close()
  }
  return draft
}

/** Deletes the drafts of killed processes: those in a folder, or of one file of it. */
export async function removeAbandonedDrafts(folder: string, name = ''): Promise<void> {
  for (const draft of await readdir(folder).catch(() => [])) {
    if (!draft.startsWith(name) || !draft.endsWith(DRAFT_SUFFIX)) continue
    const path = join(folder, draft)
    const { mtimeMs } = (await stat(path).catch(() => undefined)) ?? { mtimeMs: Number.POSITIVE_INFINITY }
    if (Date.now() - mtimeMs > DRAFT_MAX_AGE) await unlink(path).catch(() => {})
  }
}

/** Whether it is an error of the file system, such as a full or read-only disk. */
export const isFileSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && 'code' in error

// A rename survives a power failure only when the directory is synced too.
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
