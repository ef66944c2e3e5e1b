import { randomUUID } from 'node:crypto'
import { GatewayError } from 'sallyport'
import { isScalar, LineCounter, parseDocument, visit } from 'yaml'

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** The bytes of a file as JSON: as they are, or made from YAML when the name says that it is YAML. */
export const jsonBytes = (path: string, bytes: Buffer): Uint8Array =>
  /\.ya?ml$/i.test(path) ? Buffer.from(jsonFromYaml(bytes.toString('utf8'))) : bytes

export const isListName = (path: string): boolean => /\.(?:json|ya?ml)$/i.test(path)

/** The same, for one file of several: they are taken whole or not at all, so the one at fault is told by its name. */
export function checkedBytes(code: string, path: string, bytes: Buffer): Uint8Array {
  try {
    const json = jsonBytes(path, bytes)
    JSON.parse(Buffer.from(json).toString('utf8'))
    return json
  } catch (cause) {
    throw new GatewayError(code, `${path} is neither JSON nor YAML`, { cause })
  }
}

function jsonFromYaml(text: string): string {
  const lineCounter = new LineCounter()
  // Keys are compared below: the parser compares each with each, and a file of many would hold up everything.
  const reading = { lineCounter, uniqueKeys: false, intAsBigInt: true, version: '1.2', merge: true } as const
  const document = parseDocument(text, reading)
  const [error] = document.errors
  const refuse = (what: string, at: number): never => {
    const { line, col } = lineCounter.linePos(at)
    throw new SyntaxError(`${what} at line ${line}, column ${col}`)
  }
  if (error !== undefined) refuse('not YAML', error.pos[0])
  // A number stays the text that it was, as it does in JSON: 1.0 is not to become 1.
  const mark = randomUUID()
  const numbers: string[] = []
  visit(document, {
    Map(_, { items }) {
      const keys = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        if (keys.has(key.value)) refuse('a key stands here a second time', key.range?.[0] ?? 0)
        keys.add(key.value)
      }
    },
    Scalar(key, node) {
      if (typeof node.value !== 'number' && typeof node.value !== 'bigint') return
      const number = numberText(node.source, node.value)
      node.value = key === 'key' ? number : `${mark} ${numbers.push(number) - 1}`
    },
  })
  const json = JSON.stringify(document.toJS({ maxAliasCount: 100 })) ?? 'null'
  return json.replaceAll(new RegExp(`"${mark} (\\d+)"`, 'g'), (_, index) => numbers[Number(index)] ?? 'null')
}

function numberText(source: string | undefined, value: number | bigint): string {
  if (source !== undefined && JSON_NUMBER.test(source)) return source
  return typeof value === 'bigint' || Number.isFinite(value) ? String(value) : 'null'
}
