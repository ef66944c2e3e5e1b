import { constants, type Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/**
 * Opens a regular file to read it. Opening a pipe would wait for its writer, perhaps for ever, in one of the four
 * threads that read all files of the process; and a device may have no end.
 */
export async function openRegularFile(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = await file.stat()
    // Reading a folder fails with an error of its own.
    if (found.isFile() || found.isDirectory()) return file
    throw Object.assign(new Error(`${path} is no file`), { code: 'ERR_NO_FILE' })
  } catch (error) {
    await file.close()
    throw error
  }
}

export async function readRegularFile(path: string, maxBytes: number): Promise<string> {
  const file = await openRegularFile(path)
  try {
    refuseLarge(await file.stat(), maxBytes)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

/** Throws when the file is larger, since its text takes several times its size in memory. */
export function refuseLarge({ size }: Pick<Stats, 'size'>, maxBytes: number): void {
  if (size > maxBytes) throw new Error(`it has ${size} bytes, expected at most ${maxBytes}`)
}
