import {
  type DocumentCount,
  type Examination,
  type FetchedDocuments,
  GatewayError,
  type Source,
} from 'sallyport'
import { messageOf } from 'sallyport/toolkit'
import { type DocumentFile, DocumentReader, type ReadFiles } from './file-json.js'
import { positionIn } from './locate-document.js'

/** Below the time that an examination has, so that the source itself ends what it runs. */
const TIMEOUT = 50_000
const MAX_LISTED = 5

interface OpenSource extends Pick<Source, 'place' | 'fetch'> {
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
    const { place } = source
    const fetched = await source.fetch({ signal, bookmark: undefined, held: 0 })
    if (fetched.kind !== 'unchanged')
      await report(examination, reader, place, await countOf(examination, fetched, signal))
  } catch (error) {
    const failure = error instanceof GatewayError ? error.code : 'SOURCE_FAILED'
    const message = messageOf(error)
    examination.wrong('documents', failure, message, 'correct the options of the source, or what is there')
  } finally {
    source?.close?.()
  }
}

/** In a list without an entry that serves documents, only what cannot be read is refused. */
async function countOf(
  { around }: Examination,
  fetched: FetchedDocuments,
  signal: AbortSignal,
): Promise<DocumentCount> {
  const facts = around.find((each) => each.readDocuments !== undefined)
  // Not handed over: the positions of refused documents are looked up in the payloads afterwards.
  const count = await facts?.readDocuments?.({ ...fetched, handedOver: false }, signal)
  const { labels = [], unread = [] } = fetched
  return count ?? { accepted: labels.length, refused: unread.length, first: unread }
}

async function report(
  examination: Examination,
  reader: KeepingReader,
  place: string,
  { accepted, refused, first }: DocumentCount,
): Promise<void> {
  const total = accepted + refused
  const what = `${place}: ${total === 1 ? '1 document' : `${total} documents`} read, ${refused} refused`
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

/** Keeps the files that it read, to find documents in them. */
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
