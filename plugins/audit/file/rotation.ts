import { rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Log } from 'sallyport'
import { GenerationLock, type HeldLocks } from '#plugins/store/files/generation-lock.js'
import { thisProcess } from '#plugins/store/files/lock-owner.js'
import { fileAt, isSame, unlessMissing } from './named-file.js'
import type { OpenFile } from './open-file.js'

export interface RotationOptions {
  /** How many full files stay: `.1` is the newest. */
  readonly keep: number
  readonly locks: HeldLocks
  readonly log: Pick<Log, 'warn'>
}

/** Renames a full file to `.1`, that to `.2`, and so on; of several processes that want to, one does. */
export async function rotate(
  path: string,
  full: OpenFile,
  { keep, locks, log }: RotationOptions,
): Promise<void> {
  // With a dot in front, so that what collects `audit.jsonl*` leaves it alone.
  const name = join(dirname(path), `.${basename(path)}.lock`)
  const lock = await new GenerationLock(name, await thisProcess(), locks, log).acquire()
  try {
    const named = await fileAt(path)
    // Another process was faster.
    if (named === undefined || !isSame(named, full.identity)) return
    for (let number = await firstFree(path, keep); number > 1; number--)
      await rename(`${path}.${number - 1}`, `${path}.${number}`)
    // Another program may have moved it away at this moment.
    await rename(path, `${path}.1`).catch(unlessMissing)
  } finally {
    await lock.release()
  }
}

/** Where one is missing, those after it stay: a rotation that was killed half way costs none of them. */
async function firstFree(path: string, keep: number): Promise<number> {
  let number = 1
  while (number < keep && (await fileAt(`${path}.${number}`)) !== undefined) number++
  return number
}
