import type { Stats } from 'node:fs'
import { lstat } from 'node:fs/promises'

/** What has this name, a link itself and not what it leads to; `undefined` for nothing. */
export const fileAt = (path: string) => lstat(path).catch(unlessMissing)

export function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

export const isSame = (one: Pick<Stats, 'dev' | 'ino'>, other: Pick<Stats, 'dev' | 'ino'>): boolean =>
  one.dev === other.dev && one.ino === other.ino
