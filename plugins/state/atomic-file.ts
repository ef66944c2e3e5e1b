import { randomBytes } from 'node:crypto'
import { mkdir, open, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes a file of this user alone beside the one that is there and renames it: a kill leaves the old or the new one. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const draft = await draftBeside(path, text)
  try {
    await rename(draft, path)
    await syncDirectory(dirname(path))
  } catch (error) {
    await unlink(draft).catch(() => {})
    throw error
  }
}

/** The text in a file with a name of its own, on the disk. The caller renames, links or removes it. */
export async function draftBeside(path: string, text: string): Promise<string> {
  const draft = `${path}.${randomBytes(6).toString('hex')}${DRAFT}`
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

export const DRAFT = '.tmp'

// The rename itself is only safe from a power cut when the directory is on the disk, too.
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
