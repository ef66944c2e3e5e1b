import { setImmediate } from 'node:timers/promises'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

const SLICE = 16 * 1024
const MAX_DEPTH = 1_000
const MAX_KEY = 256
// A string is read without a pause.
const MAX_STRING = 16 * 1024 ** 2
// Tables, as a text may be nothing but escapes: a string of them took half a second with a regular expression for each.
const ESCAPES = tableOf('"\\/bfnrtu')
const HEX = tableOf('0123456789abcdefABCDEF')
const ESCAPE_U = 0x75
const LITERAL = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/

export type Path = readonly (string | number)[]
type Kind = 'list' | 'object' | 'scalar'

/** Called where a list or object begins, and after a scalar, with the byte at which it starts. It may throw to end the walk. */
export type Visit = (path: Path, kind: Kind, text: () => string, start: number) => void

/**
 * Validates a JSON text without making objects of it, in time slices between which requests are served: the objects of a
 * foreign text may take a hundred times its size. Throws a `SyntaxError` where it is not JSON. `visit` gets the values
 * down to `depth`.
 */
export const walkJson = (bytes: Uint8Array, depth = 0, visit: Visit = () => {}): Promise<void> =>
  new Walk(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), depth, visit).run()

class Walk {
  /** The closing brackets that are expected. */
  private readonly open: number[] = []
  private readonly path: (string | number)[] = []
  private at = 0

  constructor(
    private readonly bytes: Buffer,
    private readonly depth: number,
    private readonly visit: Visit,
  ) {}

  async run(): Promise<void> {
    // A byte order mark is not JSON, but editors write it.
    if (this.bytes[0] === 0xef && this.bytes[1] === 0xbb && this.bytes[2] === 0xbf) this.at = 3
    let next = SLICE
    for (let ended = false; !ended; ended = this.follow()) {
      this.value()
      if (this.at < next) continue
      next = this.at + SLICE
      await setImmediate()
    }
    this.skip()
    if (this.at < this.bytes.length) throw this.malformed()
  }

  /** A scalar, an empty list or object, or everything up to the first scalar in them. */
  private value(): void {
    for (;;) {
      this.skip()
      const start = this.at
      const first = this.bytes[start]
      if (first !== OPEN_LIST && first !== OPEN_OBJECT) {
        if (first === QUOTE) this.string()
        else this.literal()
        this.visitValue('scalar', start)
        return
      }
      this.visitValue(first === OPEN_LIST ? 'list' : 'object', start)
      this.at++
      const close = first === OPEN_LIST ? CLOSE_LIST : CLOSE_OBJECT
      if (this.skip() === close) {
        this.at++
        return
      }
      if (this.open.push(close) > MAX_DEPTH) throw this.malformed()
      this.path.push(0)
      if (close === CLOSE_OBJECT) this.key()
    }
  }

  /** Goes from the end of a value to the start of the next one; `true` at the end of the text. */
  private follow(): boolean {
    for (let close = this.open.at(-1); close !== undefined; close = this.open.at(-1)) {
      const next = this.skip()
      if (next !== close && next !== COMMA) throw this.malformed()
      this.at++
      if (next === COMMA) {
        const last = this.path.length - 1
        if (close === CLOSE_OBJECT) this.key()
        else this.path[last] = Number(this.path[last]) + 1
        return false
      }
      this.open.pop()
      this.path.pop()
    }
    return true
  }

  private key(): void {
    this.skip()
    const start = this.at
    this.string()
    const isVisited = this.path.length <= this.depth && this.at - start <= MAX_KEY
    this.path[this.path.length - 1] = isVisited ? String(JSON.parse(this.text(start))) : ''
    if (this.skip() !== COLON) throw this.malformed()
    this.at++
  }

  private string(): void {
    const { bytes } = this
    if (bytes[this.at] !== QUOTE) throw this.malformed()
    const most = this.at + MAX_STRING
    for (let at = this.at + 1; at < most; at++) {
      const byte = bytes[at] ?? 0
      if (byte === QUOTE) {
        this.at = at + 1
        return
      }
      if (byte < 0x20) break
      if (byte !== BACKSLASH) continue
      at++
      const letter = bytes[at] ?? 0
      if (ESCAPES[letter] !== 1) break
      if (letter !== ESCAPE_U) continue
      const end = at + 4
      while (at < end && HEX[bytes[at + 1] ?? 0] === 1) at++
      if (at < end) break
    }
    throw this.malformed()
  }

  private literal(): void {
    const start = this.at
    while (isPlain(this.bytes[this.at] ?? COMMA)) this.at++
    if (!LITERAL.test(this.text(start))) throw this.malformed()
  }

  private skip(): number | undefined {
    for (;;) {
      const byte = this.bytes[this.at]
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte
      this.at++
    }
  }

  private visitValue(kind: Kind, start: number): void {
    if (this.path.length <= this.depth) this.visit(this.path, kind, () => this.text(start), start)
  }

  private text(start: number): string {
    return this.bytes.toString('utf8', start, this.at)
  }

  private malformed(): SyntaxError {
    const before = this.bytes.subarray(0, this.at)
    const lineStart = before.lastIndexOf(0x0a) + 1
    let line = 1
    for (let at = before.indexOf(0x0a); at !== -1; at = before.indexOf(0x0a, at + 1)) line++
    const column = before.toString('utf8', lineStart).length + 1
    return new SyntaxError(`not JSON at line ${line}, column ${column}`)
  }
}

const isPlain = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a) || [0x2b, 0x2d, 0x2e, 0x45].includes(byte)

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const each of Buffer.from(characters)) table[each] = 1
  return table
}
