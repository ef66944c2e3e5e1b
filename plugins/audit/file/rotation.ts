import { rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Log } from 'sallyport'
import { FileLock } from '#plugins/store/sqlite/file-lock.js'
import { fileAt, isSame, unlessMissing } from './named-file.js'
import type { OpenFile } from './open-file.js'

export interface RotationOptions {
  /** How many full files stay: `.1` is the newest. */
  readonly keep: number
  readonly log: Pick<Log, 'warn'>
}

/** Renames a full file to `.1`, that to `.2`, and so on; of several processes that want to, one does. */
export async function rotate(path: string, full: OpenFile, { keep, log }: RotationOptions): Promise<void> {
  // With a dot in front, so that what collects `audit.jsonl*` leaves it alone.
  const name = join(dirname(path), `.${basename(path)}.lock`)
  const lock = await new FileLock(name, log).acquire()
  try {
    const named = await fileAt(path)
    // Another process was faster.
    if (named === undefined || !isSame(named, full.identity)) return
    for (let number = await firstFree(path, keep); number > 1; number--)
      await rename(`${path}.${number - 1}`, `${path}.${number}`)
    // Another program may have moved it away at this moment.
    await rename(path, `${path}.1`).catch(unlessMissing)
  } finally {
    lock.release()
  }
}

/** Where one is missing, those after it stay: a rotation that was killed half way costs none of them. */
async function firstFree(path: string, keep: number): Promise<number> {
  let number = 1
  while (number < keep && (await fileAt(`${path}.${number}`)) !== undefined) number++
  return number
}
