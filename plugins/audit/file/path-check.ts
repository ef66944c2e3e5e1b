import { access, constants, realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileFailure } from 'sallyport/toolkit'
import { fileAt, unlessMissing } from './named-file.js'

type PathCheck = { readonly path: string; readonly mode: number | undefined } | { readonly fault: string }

/** The real path of an audit file, or why there can be none, and what to do. It changes nothing on the disk. */
export async function checkPath(given: string, rotates: boolean): Promise<PathCheck> {
  const folder = dirname(given)
  try {
    const path = join(await realpath(folder), basename(given))
    const found = await fileAt(path)
    if (found?.isSymbolicLink())
      return { fault: `${given} is a symbolic link: name the file itself, since rotation renames it` }
    if (found?.isDirectory())
      return { fault: `${given} is a folder: expected a file, such as ${join(given, 'audit.jsonl')}` }
    if (found !== undefined && !found.isFile())
      return { fault: `${given} is no regular file: expected one, since rotation renames it` }
    // Another process may have renamed the file at this moment.
    if (found !== undefined) await access(path, constants.W_OK | constants.R_OK).catch(unlessMissing)
    if (found === undefined || rotates) await access(dirname(path), constants.W_OK | constants.X_OK)
    return { path, mode: found?.mode }
  } catch (error) {
    return { fault: pathFault(given, folder, error, rotates) }
  }
}

function pathFault(path: string, folder: string, error: unknown, rotates: boolean): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return `there is no folder ${folder}: create it, and let this user write there`
  if (code !== 'EACCES' && code !== 'EPERM') return `cannot write ${path}: ${writeFailure(error)}`
  const instead = rotates ? ', or set `maxBytes: 0`, where another program rotates it' : ''
  return `this user may not write ${path}, or not create files in ${folder}: allow both${instead}`
}

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the disk can only be read',
  ENOENT: 'its folder is gone',
  ELOOP: 'a symbolic link has its name',
  EISDIR: 'a folder has its name',
  EACCES: 'this user may not write it',
}

export function writeFailure(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const reason = REASONS[code]
  return reason === undefined ? fileFailure(error) : `${reason} (${code})`
}
