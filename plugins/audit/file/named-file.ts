import type { Stats } from 'node:fs'
import { lstat } from 'node:fs/promises'

/** The file of this name, without following a symbolic link; `undefined` if there is none. */
export const fileAt = (path: string) => lstat(path).catch(unlessMissing)

export function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

export const isSame = (one: Pick<Stats, 'dev' | 'ino'>, other: Pick<Stats, 'dev' | 'ino'>): boolean =>
  one.dev === other.dev && one.ino === other.ino
