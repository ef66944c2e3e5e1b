import type { DocumentPosition } from 'sallyport'
import { isNode, LineCounter, parseDocument } from 'yaml'
import { type DocumentFile, isYaml } from './file-json.js'
import { type Path, walkJson } from './json-walk.js'

interface LineAndColumn {
  readonly line: number
  readonly column: number
}

/** Where a value of a document is in its file, or the nearest one around it that exists. `json`: the same file as JSON. */
export async function positionIn(
  file: DocumentFile,
  json: Uint8Array,
  position: DocumentPosition,
): Promise<LineAndColumn> {
  const found = await valueIn(json, position)
  const text = Buffer.from(file.bytes).toString('utf8')
  return isYaml(file) ? inYaml(text, found.path) : inJson(json, found.start)
}

/** The documents are the elements of these lists; a text without any is one document. */
const LISTS: readonly Path[] = [[], ['servers'], ['data', 'servers']]
const MAX_BASE = 3

interface Value {
  readonly path: Path
  readonly start: number
}

async function valueIn(json: Uint8Array, { document, path }: DocumentPosition): Promise<Value> {
  let wanted = path
  let nearest: Value = { path: [], start: 0 }
  let count = 0
  await walkJson(json, MAX_BASE + path.length, (at, _kind, _text, start) => {
    if (isElement(at) && count++ === document) {
      wanted = [...at, ...path]
      nearest = { path: [...at], start }
    }
    // The last of equal keys is the one that counts.
    const isNearer = at.length >= nearest.path.length && at.every((step, index) => step === wanted[index])
    if (isNearer) nearest = { path: [...at], start }
  })
  return nearest
}

const isElement = (path: Path): boolean =>
  typeof path.at(-1) === 'number' &&
  LISTS.some((list) => list.length === path.length - 1 && list.every((key, index) => path[index] === key))

function inJson(json: Uint8Array, start: number): LineAndColumn {
  const before = Buffer.from(json.buffer, json.byteOffset, start).toString('utf8')
  const lineStart = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length, column: before.length - lineStart + 1 }
}

function inYaml(text: string, path: Path): LineAndColumn {
  const lineCounter = new LineCounter()
  // The text was converted before, with the limits of that.
  const document = parseDocument(text, { lineCounter, version: '1.2', merge: true, uniqueKeys: false })
  // What comes from an alias has no node of its own at this path.
  const node = path
    .map((_, index) => document.getIn(path.slice(0, path.length - index), true))
    .find((each) => isNode(each))
  const { line, col } = lineCounter.linePos(isNode(node) ? (node.range?.[0] ?? 0) : 0)
  return { line, column: col }
}
