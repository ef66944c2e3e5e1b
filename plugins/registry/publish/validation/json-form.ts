import { type Errors, type Finding, finding, MOST_ISSUES, type Path, quoted } from './issue.js'

/** Faults that `JSON.parse` does not report: text that clients read differently, and too many values. */
export interface JsonForm extends Errors {
  /** The position at which the text stops being JSON. */
  readonly brokenAt?: number
  /** When set, no other rule is checked. */
  readonly tooMuch: boolean
}

/** Receives each value, with the start of the value and of the member that holds it. */
export type Visit = (path: Path, start: number, key: number | undefined) => void

const MAX_DEPTH = 64
// Thousands of wrong values in one document must not keep the process busy.
const MAX_VALUES = 5_000
// The validator copies the errors of an object to the errors before it, so the time grows with the square.
const MAX_OBJECTS = 500

/** Reads the form of a JSON text, value by value. */
export function jsonForm(text: string, visit: Visit = () => {}): JsonForm {
  const scan = new Scan(text, visit)
  try {
    scan.document()
    return { findings: scan.findings, more: scan.more, tooMuch: false }
  } catch (error) {
    if (error instanceof TooMuch) {
      return { findings: [error.finding, ...scan.findings], more: scan.more, tooMuch: true }
    }
    if (error instanceof Broken) return { findings: [], more: 0, tooMuch: true, brokenAt: error.at }
    throw error
  }
}

class TooMuch extends Error {
  constructor(readonly finding: Finding) {
    super(finding.message)
  }
}

class Broken extends Error {
  constructor(readonly at: number) {
    super(`not JSON at ${at}`)
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const ESCAPE = /["\\/bfnrt]|u[0-9a-fA-F]{4}/y
const LITERALS = ['true', 'false', 'null'] as const

class Scan {
  readonly findings: Finding[] = []
  more = 0
  private readonly path: (string | number)[] = []
  private at = 0
  private values = 0
  private objects = 0

  constructor(
    private readonly text: string,
    private readonly visit: Visit,
  ) {}

  document(): void {
    this.value(undefined)
    this.skip()
    if (this.at < this.text.length) throw new Broken(this.at)
  }

  private value(key: number | undefined): void {
    this.skip()
    const first = this.text[this.at]
    this.count(first)
    this.visit(this.path, this.at, key)
    if (first === '{') this.members()
    else if (first === '[') this.elements()
    else if (first === '"') this.string()
    else this.scalar()
  }

  private count(first: string | undefined): void {
    if (first === '{' || first === '[') this.objects++
    if (++this.values > MAX_VALUES || this.objects > MAX_OBJECTS) {
      const most = `at most ${MAX_VALUES} values are expected, ${MAX_OBJECTS} of them lists and objects`
      throw new TooMuch(finding('json', [], 'too-many-values', most))
    }
    if (this.path.length > MAX_DEPTH) {
      const message = `at most ${MAX_DEPTH} lists and objects inside each other are expected`
      throw new TooMuch(finding('json', [...this.path], 'nested-too-deeply', message))
    }
  }

  private members(): void {
    const names = new Set<string>()
    const depth = this.path.length
    this.items('}', () => {
      const key = this.at
      const name = this.string()
      this.path[depth] = name
      if (names.has(name)) this.repeated(name)
      names.add(name)
      this.skip()
      this.expect(':')
      this.value(key)
    })
  }

  private elements(): void {
    const depth = this.path.length
    let index = 0
    this.items(']', () => {
      this.path[depth] = index++
      this.value(undefined)
    })
  }

  private items(close: '}' | ']', item: () => void): void {
    const depth = this.path.length
    this.at++
    this.skip()
    if (this.text[this.at] !== close) {
      for (;;) {
        this.skip()
        item()
        this.path.length = depth
        this.skip()
        if (this.text[this.at] !== ',') break
        this.at++
      }
    }
    this.expect(close)
  }

  private string(): string {
    const { text } = this
    const start = this.at
    this.expect('"')
    let hasEscapes = false
    for (let code = text.charCodeAt(this.at); code !== 0x22; code = text.charCodeAt(this.at)) {
      if (Number.isNaN(code) || code < 0x20) throw new Broken(this.at)
      this.at++
      if (code !== 0x5c) continue
      hasEscapes = true
      this.match(ESCAPE)
    }
    this.at++
    if (!hasEscapes) return text.slice(start + 1, this.at - 1)
    const read = String(JSON.parse(text.slice(start, this.at)))
    if (!read.isWellFormed()) this.unpaired()
    return read
  }

  private scalar(): void {
    const literal = LITERALS.find((each) => this.text.startsWith(each, this.at))
    if (literal === undefined) this.match(NUMBER)
    else this.at += literal.length
  }

  private match(pattern: RegExp): void {
    pattern.lastIndex = this.at
    if (!pattern.test(this.text)) throw new Broken(this.at)
    this.at = pattern.lastIndex
  }

  private expect(character: string): void {
    if (this.text[this.at] !== character) throw new Broken(this.at)
    this.at++
  }

  private skip(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.at++
    }
  }

  private repeated(name: string): void {
    const message = `one member ${quoted(name)} is expected, and it is repeated: clients would read different ones`
    this.add('duplicate-member', message)
  }

  private unpaired(): void {
    const message = 'half a surrogate pair is no character: clients would read different texts'
    this.add('unpaired-surrogate', message)
  }

  private add(reference: string, message: string): void {
    if (this.findings.length === MOST_ISSUES) this.more++
    else this.findings.push(finding('json', [...this.path], reference, message))
  }
}
