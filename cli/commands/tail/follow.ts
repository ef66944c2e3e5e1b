import { stat } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { Io } from '../../io.js'
import { printWarnings } from '../../terminal.js'
import { identityOf, isMissing, type OpenFile, openNewer, type Reading } from './source.js'

/** Milliseconds. Looked at, since not every file system tells of changes. */
const PAUSE = 200

/**
 * Reads what is written to a file until the signal. `known` are the file and what it was before its last rotation, as
 * far as they are there, the oldest first: whoever writes may do so to the older one for a while, and a file that is
 * open keeps its identity.
 */
export async function follow(
  path: string,
  known: readonly OpenFile[],
  reading: Reading,
  io: Io,
): Promise<void> {
  let held = known
  if (held.at(-1)?.path !== path)
    printWarnings([{ place: path, message: 'there is no such file yet; it is waited for' }], io)
  while (!reading.signal.aborted) {
    await readOn(path, held, reading, io)
    if (await isReplaced(path, held)) held = await replaced(path, held, reading, io)
    await pause(PAUSE, undefined, { signal: reading.signal }).catch(() => {})
  }
  for (const file of held) await file.close()
}

async function readOn(path: string, files: readonly OpenFile[], reading: Reading, io: Io): Promise<void> {
  for (const file of files) {
    if (!(await file.readOn(reading))) continue
    printWarnings([{ place: path, message: 'was cut to a smaller size, and is read from its beginning' }], io)
    await file.readOn(reading)
  }
}

/** After a rotation there may be no file of the name itself for long: until the next line is written. */
async function isReplaced(path: string, held: readonly OpenFile[]): Promise<boolean> {
  const newest = (await identityAt(path)) ?? (await identityAt(`${path}.1`))
  return newest !== undefined && newest !== held.at(-1)?.identity
}

async function identityAt(path: string): Promise<string | undefined> {
  try {
    return identityOf(await stat(path, { bigint: true }))
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Reads all files that came since, and keeps the last two of all. */
async function replaced(
  path: string,
  held: readonly OpenFile[],
  reading: Reading,
  io: Io,
): Promise<readonly OpenFile[]> {
  const newer = await openNewer(path, held)
  // Before the new ones: what was written until the rotation.
  await readOn(path, held, reading, io)
  for (const file of newer) await file.readOn(reading)
  const all = [...held, ...newer]
  await finished(all.slice(0, -2), reading)
  return all.slice(-2)
}

async function finished(files: readonly OpenFile[], { take, flush }: Reading): Promise<void> {
  for (const file of files) {
    file.finish(take)
    await file.close()
  }
  await flush?.()
}
