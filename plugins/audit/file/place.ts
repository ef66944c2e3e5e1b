import { access, constants, realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileFailure } from 'sallyport/toolkit'
import { fileAt, unlessMissing } from './named-file.js'

type Place = { readonly path: string; readonly mode: number | undefined } | { readonly fault: string }

/** Where a path leads to, with its folder's own name, or why no audit file can be there, and what to do. It changes nothing. */
export async function placeOf(given: string, rotates: boolean): Promise<Place> {
  const folder = dirname(given)
  try {
    const path = join(await realpath(folder), basename(given))
    const found = await fileAt(path)
    if (found?.isSymbolicLink())
      return { fault: `${given} is a symbolic link: name the file itself, which is renamed when it is full` }
    if (found?.isDirectory())
      return { fault: `${given} is a folder: expected a file, such as ${join(given, 'audit.jsonl')}` }
    if (found !== undefined && !found.isFile())
      return { fault: `${given} is no regular file: expected one, which can be renamed when it is full` }
    // Another process may have renamed it at this moment.
    if (found !== undefined) await access(path, constants.W_OK | constants.R_OK).catch(unlessMissing)
    if (found === undefined || rotates) await access(dirname(path), constants.W_OK | constants.X_OK)
    return { path, mode: found?.mode }
  } catch (error) {
    return { fault: placeFault(given, folder, error, rotates) }
  }
}

function placeFault(path: string, folder: string, error: unknown, rotates: boolean): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return `there is no folder ${folder}: create it, so that this user may write there`
  if (code !== 'EACCES' && code !== 'EPERM') return `cannot write ${path}: ${writeFailure(error)}`
  const instead = rotates ? ', or set `maxBytes: 0`, where another program rotates it' : ''
  return `this user may not write ${path}, or not create files in ${folder}: allow both${instead}`
}

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the disk can only be read',
  ENOENT: 'its folder is gone',
  ELOOP: 'a symbolic link is in its place',
  EISDIR: 'a folder is in its place',
  EACCES: 'this user may not write it',
}

export function writeFailure(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const reason = REASONS[code]
  return reason === undefined ? fileFailure(error) : `${reason} (${code})`
}
