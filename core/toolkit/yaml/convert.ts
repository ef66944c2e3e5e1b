import { randomUUID } from 'node:crypto'
import { Composer, isScalar, LineCounter, Parser, visit } from 'yaml'
import { tokensAreTooDeep, valueIsTooDeep } from './nesting.js'

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const MOST_JSON = 64 * 1024 ** 2
const TOO_DEEP = 'it is nested too deeply'

/** The document of a YAML text as JSON. Throws a `SyntaxError` that quotes nothing from the text. */
export function jsonFromYaml(text: string): string {
  const lineCounter = new LineCounter()
  const tokens = [...new Parser(lineCounter.addNewLine).parse(text)]
  if (tokensAreTooDeep(tokens)) throw new SyntaxError(TOO_DEEP)
  const composer = new Composer({
    // The visitor below compares keys: the parser compares each key with each, which is quadratic.
    uniqueKeys: false,
    intAsBigInt: true,
    version: '1.2',
    merge: true,
  })
  const [document, second] = [...composer.compose(tokens, true, text.length)]
  const refuse = (fault: string, at: number): never => {
    const { line, col } = lineCounter.linePos(at)
    throw new SyntaxError(`${fault} at line ${line}, column ${col}`)
  }
  if (document === undefined) return 'null'
  const [error] = document.errors
  if (error !== undefined) refuse('not YAML', error.pos[0])
  if (second !== undefined) refuse('there is a second document', second.range[0])
  // Numbers keep their text, so that 1.0 does not become 1.
  const placeholder = randomUUID()
  const numbers: string[] = []
  visit(document, {
    Map(_, { items }) {
      const keys = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        if (keys.has(key.value)) refuse('a key is repeated', key.range?.[0] ?? 0)
        keys.add(key.value)
      }
    },
    Scalar(key, node) {
      if (typeof node.value !== 'number' && typeof node.value !== 'bigint') return
      const number = numberText(node.source, node.value)
      node.value = key === 'key' ? number : `${placeholder} ${numbers.push(number) - 1}`
    },
  })
  const value = plain(() => document.toJS({ maxAliasCount: 100 }))
  const json = JSON.stringify(value) ?? 'null'
  if (json.length > MOST_JSON) throw new SyntaxError('its aliases make it too large')
  return json.replaceAll(
    new RegExp(`"${placeholder} (\\d+)"`, 'g'),
    (_, index) => numbers[Number(index)] ?? 'null',
  )
}

function plain(make: () => unknown): unknown {
  try {
    const value = make()
    if (!valueIsTooDeep(value)) return value
  } catch (error) {
    if (error instanceof ReferenceError)
      throw new SyntaxError('its aliases multiply beyond 100, or lead nowhere')
    if (!(error instanceof RangeError)) throw error
  }
  throw new SyntaxError(TOO_DEEP)
}

function numberText(source: string | undefined, value: number | bigint): string {
  if (source !== undefined && JSON_NUMBER.test(source)) return source
  return typeof value === 'bigint' || Number.isFinite(value) ? String(value) : 'null'
}
