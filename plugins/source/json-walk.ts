import { isUtf8 } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'
import { JsonReader, textOf } from 'sallyport/toolkit'

const SLICE = 16 * 1024
const MAX_DEPTH = 1_000
const MAX_KEY = 256

export type Path = readonly (string | number)[]
type Kind = 'list' | 'object' | 'scalar'

/**
 * Called at the start of a list or object, and after a scalar, with the byte at which it starts. It may throw to end
 * the walk.
 */
export type Visit = (path: Path, kind: Kind, text: () => string, start: number) => void

/**
 * Validates a JSON text without making objects of it, in time slices between which requests are served: the objects of
 * a foreign text may take a hundred times its size. Throws a `SyntaxError` where it is not JSON. `visit` gets the
 * values down to `depth`.
 */
export async function walkJson(bytes: Uint8Array, depth = 0, visit: Visit = () => {}): Promise<void> {
  const walk = new Walk(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), depth, visit)
  while (!walk.read(SLICE)) await setImmediate()
}

class Walk extends JsonReader {
  private readonly path: (string | number)[] = []

  constructor(
    bytes: Buffer,
    private readonly depth: number,
    private readonly visit: Visit,
  ) {
    super(bytes)
  }

  protected onKey(start: number, end: number): void {
    const isVisited = this.path.length <= this.depth && end - start <= MAX_KEY
    this.path[this.path.length - 1] = isVisited ? textOf(this.bytes, start, end) : ''
  }

  protected onScalar(start: number, end: number): void {
    this.found('scalar', start, end)
  }

  protected onOpen(isObject: boolean, start: number): void {
    this.found(isObject ? 'object' : 'list', start, start)
    if (this.path.push(isObject ? '' : -1) > MAX_DEPTH) throw this.malformed()
  }

  protected onClose(): void {
    this.path.pop()
  }

  protected malformed(): SyntaxError {
    if (!isUtf8(this.bytes)) return new SyntaxError('not JSON: it is not in UTF-8')
    const before = this.bytes.subarray(0, this.at)
    const lineStart = before.lastIndexOf(0x0a) + 1
    let line = 1
    for (let at = before.indexOf(0x0a); at !== -1; at = before.indexOf(0x0a, at + 1)) line++
    const column = before.toString('utf8', lineStart).length + 1
    return new SyntaxError(`not JSON at line ${line}, column ${column}`)
  }

  private found(kind: Kind, start: number, end: number): void {
    const last = this.path.length - 1
    const index = this.path[last]
    if (typeof index === 'number') this.path[last] = index + 1
    if (last < this.depth) this.visit(this.path, kind, () => this.bytes.toString('utf8', start, end), start)
  }
}
