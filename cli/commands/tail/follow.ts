import { stat } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { Io } from '../../io.js'
import { printWarnings } from '../../terminal.js'
import { identityOf, isMissing, type OpenFile, openNewer, type Reading } from './source.js'

/** Milliseconds between two looks. Polled, since not every file system reports changes. */
const PAUSE = 200

/**
 * Reads the lines that are written to a file until the signal. `known` holds the file and its predecessor before the
 * last rotation, if they exist, the oldest first: a writer may go on with the older file for a while, and an open file
 * keeps its identity.
 */
export async function follow(
  path: string,
  known: readonly OpenFile[],
  reading: Reading,
  io: Io,
): Promise<void> {
  let held = known
  if (held.at(-1)?.path !== path)
    printWarnings([{ place: path, message: 'there is no such file yet; tail waits for it' }], io)
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
    printWarnings([{ place: path, message: 'was truncated, and is read again from its beginning' }], io)
    await file.readOn(reading)
  }
}

/** After a rotation the name may have no file for a long time: until a writer writes the next line. */
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

/** Reads all files that came since, and keeps only the last two open. */
async function replaced(
  path: string,
  held: readonly OpenFile[],
  reading: Reading,
  io: Io,
): Promise<readonly OpenFile[]> {
  const newer = await openNewer(path, held)
  // Before the new files: the lines that were written until the rotation.
  await readOn(path, held, reading, io)
  for (const file of newer) await file.readOn(reading)
  const all = [...held, ...newer]
  await finished(all.slice(0, -2), reading)
  return all.slice(-2)
}

async function finished(files: readonly OpenFile[], { onLine, flush }: Reading): Promise<void> {
  for (const file of files) {
    file.finish(onLine)
    await file.close()
  }
  await flush?.()
}
