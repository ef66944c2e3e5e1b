import {
  type DocumentCount,
  type DocumentPosition,
  type Examination,
  type FetchedDocuments,
  GatewayError,
  type Source,
} from 'sallyport'
import { messageOf } from 'sallyport/toolkit'
import { isNode, LineCounter, parseDocument } from 'yaml'
import { type DocumentFile, DocumentReader, isYaml, type ReadFiles } from './file-json.js'
import { type Path, walkJson } from './json-walk.js'

/** Milliseconds, less than the limit of an examination, so that the source itself ends its processes. */
const TIMEOUT = 50_000
const MAX_LISTED = 5

interface OpenSource extends Pick<Source, 'location' | 'fetch'> {
  close?(): void
}

/** Reads a source as a sync does, and reports the documents that a registry would refuse. */
export async function examineDocuments(
  examination: Examination,
  code: string,
  open: (reader: DocumentReader) => OpenSource,
): Promise<void> {
  const reader = new KeepingReader(code)
  const signal = AbortSignal.timeout(TIMEOUT)
  let source: OpenSource | undefined
  try {
    source = open(reader)
    const { location } = source
    const fetched = await source.fetch({ signal, bookmark: undefined, held: 0 })
    if (fetched.kind !== 'unchanged')
      await report(examination, reader, location, await countOf(examination, fetched, signal))
  } catch (error) {
    const failure = error instanceof GatewayError ? error.code : 'SOURCE_FAILED'
    const message = messageOf(error)
    examination.wrong('documents', failure, message, 'correct the options of the source, or what is there')
  } finally {
    source?.close?.()
  }
}

/** Without an entry that serves documents in the list, only unreadable documents are refused. */
async function countOf(
  { around }: Examination,
  fetched: FetchedDocuments,
  signal: AbortSignal,
): Promise<DocumentCount> {
  const facts = around.find((each) => each.readDocuments !== undefined)
  // Copied, not transferred: the examination looks up refused documents in the payloads afterwards.
  const count = await facts?.readDocuments?.({ ...fetched, handedOver: false }, signal)
  const { labels = [], unread = [] } = fetched
  return count ?? { accepted: labels.length, refused: unread.length, first: unread }
}

async function report(
  examination: Examination,
  reader: KeepingReader,
  location: string,
  { accepted, refused, first }: DocumentCount,
): Promise<void> {
  const total = accepted + refused
  const what = `${location}: ${total === 1 ? '1 document' : `${total} documents`} read, ${refused} refused`
  if (refused === 0) return examination.ok('documents', what)
  const found = accepted === 0 ? examination.wrong : examination.warning
  const listed = first.slice(0, MAX_LISTED)
  const advice = accepted === 0 ? 'nothing of it would be served' : 'the others are served'
  found('documents', 'DOCUMENTS_REFUSED', what, advice)
  for (const { name, reason, position } of listed) {
    const where = position === undefined ? name : await reader.placeOf(position)
    const detail = position === undefined ? reason : `${name}: ${reason}`
    found(where, 'DOCUMENT_REFUSED', detail, 'correct the document')
  }
}

/** Keeps the files that a source has read, to find documents in them. */
class KeepingReader extends DocumentReader {
  private files: readonly DocumentFile[] = []
  private result: ReadFiles | undefined

  override async read(files: readonly DocumentFile[], signal: AbortSignal): Promise<ReadFiles> {
    this.files = files
    this.result = await super.read(files, signal)
    return this.result
  }

  /** `path:line:column` */
  async placeOf(position: NonNullable<DocumentCount['first'][number]['position']>): Promise<string> {
    const { file: path } = position
    const file = this.files.find((each) => each.path === path)
    const json = this.result?.payloads[this.result.labels.indexOf(path)]
    if (file === undefined || json === undefined) return path
    const { line, column } = await positionIn(file, json, position)
    return `${path}:${line}:${column}`
  }
}

interface LineAndColumn {
  readonly line: number
  readonly column: number
}

/** The position of a value in its file, or of the nearest existing value around it. `json`: the same file as JSON. */
async function positionIn(
  file: DocumentFile,
  json: Uint8Array,
  position: DocumentPosition,
): Promise<LineAndColumn> {
  const found = await valueIn(json, position)
  const text = Buffer.from(file.bytes).toString('utf8')
  return isYaml(file) ? inYaml(text, found.path) : inJson(json, found.start)
}

/** The documents are the elements of these lists; a text without such a list is one document. */
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
    // The last of equal keys counts.
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
  // The source has already converted the text, with limits.
  const document = parseDocument(text, { lineCounter, version: '1.2', merge: true, uniqueKeys: false })
  // A value that comes from an alias has no node of its own at this path.
  const node = path
    .map((_, index) => document.getIn(path.slice(0, path.length - index), true))
    .find((each) => isNode(each))
  const { line, col } = lineCounter.linePos(isNode(node) ? (node.range?.[0] ?? 0) : 0)
  return { line, column: col }
}
