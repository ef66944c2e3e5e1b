import { randomBytes } from 'node:crypto'
import { mkdir, open, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Replaces a file by a rename, readable by this user only: after a kill it is the old one or the new one. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const draft = await writeDraft(path, text)
  try {
    await rename(draft, path)
    await syncDirectory(dirname(path))
  } catch (error) {
    await unlink(draft).catch(() => {})
    throw error
  }
}

/** Writes a synced file with a unique name next to `path`, which the caller renames, links or removes. */
export async function writeDraft(path: string, text: string): Promise<string> {
  const draft = `${path}.${randomBytes(6).toString('hex')}${DRAFT_SUFFIX}`
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } catch (error) {
    await unlink(draft).catch(() => {})
    throw error
  } finally {
    await file.close()
  }
  return draft
}

export const DRAFT_SUFFIX = '.tmp'

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
