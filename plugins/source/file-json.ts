import { type FetchedDocuments, GatewayError } from 'sallyport'
import { readYaml } from 'sallyport/toolkit'
import { walkJson } from './json-walk.js'

export interface DocumentFile {
  readonly path: string
  readonly bytes: Uint8Array
}

/** The files that could be read as payloads, and those that could not. */
export interface ReadFiles extends Required<Pick<FetchedDocuments, 'labels' | 'unread'>> {
  readonly payloads: readonly Uint8Array[]
}

/** A version in bookmarks: a state with another version is read again. */
export const UNDATED = 'undated'

export const isYaml = ({ path }: Pick<DocumentFile, 'path'>): boolean => /\.ya?ml$/i.test(path)

export const isDocumentName = (path: string): boolean => /\.(?:json|ya?ml)$/i.test(path)

/** Reads the files of one source. It remembers which servers a malformed file had. */
export class DocumentReader {
  /** The names in each file at its last valid read; undefined for a file that was never valid. */
  private names: ReadonlyMap<string, readonly string[] | undefined> | undefined

  /** `code`: the error code when no file can be read. */
  constructor(private readonly code: string) {}

  /** The files as JSON. One that is malformed does not affect the others. */
  async read(files: readonly DocumentFile[], signal: AbortSignal): Promise<ReadFiles> {
    const results = await this.converted(files, signal)
    const names = new Map<string, readonly string[] | undefined>()
    const payloads: Uint8Array[] = []
    const labels: string[] = []
    const unread: { name: string; reason: string; servers: readonly string[] | undefined }[] = []
    for (const [index, { path }] of files.entries()) {
      signal.throwIfAborted()
      const result = await walked(results[index])
      if ('fault' in result) {
        const servers = this.lastNames(path)
        names.set(path, servers)
        unread.push({ name: path, reason: result.fault, servers })
      } else {
        names.set(path, result.names)
        payloads.push(result.json)
        labels.push(path)
      }
    }
    const [first] = unread
    if (first !== undefined && payloads.length === 0) throw this.malformed(first.name, first.reason)
    this.names = names
    return { payloads, labels, unread }
  }

  private lastNames(path: string): readonly string[] | undefined {
    if (this.names === undefined) return undefined
    return this.names.has(path) ? this.names.get(path) : []
  }

  private async converted(
    files: readonly DocumentFile[],
    signal: AbortSignal,
  ): Promise<readonly Converted[]> {
    const yaml = files.filter(isYaml)
    if (yaml.length === 0) return files.map(({ bytes }) => ({ json: bytes }))
    const { each, stopped } = await readYaml(
      yaml.map(({ bytes }) => bytes),
      signal,
    )
    if (stopped !== undefined) throw this.malformed(yaml[each.length]?.path ?? '', stopped)
    const converted = new Map(yaml.map((file, index) => [file, each[index]]))
    return files.map((file) => converted.get(file) ?? { json: file.bytes })
  }

  private malformed(path: string, fault: string): GatewayError {
    return new GatewayError(this.code, `${path} is neither JSON nor YAML: ${fault}`)
  }
}

type Converted = { readonly json: Uint8Array } | { readonly fault: string }

// A name is at most at `data.servers[0].server.name`.
const NAME_DEPTH = 5
const LONGEST_NAME = 300

/** Validates the JSON of a file, and collects the names of the servers in it. */
async function walked(
  result: Converted = { json: new Uint8Array() },
): Promise<{ readonly json: Uint8Array; readonly names: readonly string[] } | { readonly fault: string }> {
  if ('fault' in result) return result
  const names: string[] = []
  try {
    await walkJson(result.json, NAME_DEPTH, (path, kind, text) => {
      if (path.at(-1) !== 'name' || kind !== 'scalar') return
      const parent = path.at(-2)
      if (parent !== undefined && parent !== 'server' && typeof parent !== 'number') return
      const name: unknown = JSON.parse(text())
      if (typeof name === 'string' && name.length <= LONGEST_NAME) names.push(name)
    })
    return { json: result.json, names }
  } catch (error) {
    if (error instanceof SyntaxError) return { fault: error.message }
    throw error
  }
}
