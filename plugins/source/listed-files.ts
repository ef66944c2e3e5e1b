import { type Stats, statSync } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { GatewayError } from 'sallyport'
import { checkedBytes, isListName, jsonBytes } from './list-text.js'

/** The files at a place, and what they were like. */
export interface Listed {
  readonly files: readonly string[]
  /** Another one whenever one of them was written, came or went. */
  readonly mark: string
  readonly asOf: Date
}

/** A file, or the JSON and YAML files of a folder in the order of their names. */
export async function listedAt(path: string): Promise<Listed> {
  const own = await stat(path)
  if (!own.isDirectory()) return { files: [path], mark: markOf(own), asOf: own.mtime }

  const names = (await readdir(path)).filter((name) => isListName(name) && !name.startsWith('.')).sort()
  const found: { readonly file: string; readonly facts: Stats }[] = []
  for (const name of names) {
    const file = join(path, name)
    const facts = await stat(file)
    if (facts.isFile()) found.push({ file, facts })
  }
  if (found.length === 0)
    throw new GatewayError('FILE_UNREADABLE', `there is no JSON or YAML file in ${path}`)
  return {
    files: found.map(({ file }) => file),
    mark: found.map(({ file, facts }) => `${markOf(facts)} ${file}`).join('\n'),
    asOf: new Date(Math.max(...found.map(({ facts }) => facts.mtimeMs))),
  }
}

/** The documents of a file as JSON. `checked`: what is malformed is told with the name of the file. */
export async function payloadOf(path: string, checked: boolean): Promise<Uint8Array> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    // Read into one piece of memory: a catalogue may be large, and joining its parts would take as much again.
    const content = Buffer.allocUnsafeSlow(size)
    let filled = 0
    while (filled < size) {
      const { bytesRead } = await file.read(content, filled, size - filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    const bytes = content.subarray(0, filled)
    return checked ? checkedBytes('FILE_MALFORMED', path, bytes) : jsonBytes(path, bytes)
  } finally {
    await file.close()
  }
}

export const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

const markOf = ({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string =>
  [dev, ino, size, mtimeMs, ctimeMs].join(' ')
