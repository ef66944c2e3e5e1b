import type { SettingPath } from 'sallyport'
import type { Document, LineCounter } from 'yaml'
import { isAlias, isMap, isNode, isScalar, isSeq } from 'yaml'
import { pathText } from '#core/toolkit/path-text.js'

/** Finds lines and columns in a parsed file. */
export class Locator {
  constructor(
    private readonly file: string,
    private readonly document: Document,
    private readonly lines: LineCounter,
  ) {}

  /** `sallyport.yaml:12:5`, for an offset into the text. */
  at(offset: number): string {
    const { line, column } = this.positionOf(offset)
    return this.placeOf(line, column)
  }

  placeOf(line: number, column: number): string {
    return `${this.file}:${line}:${column}`
  }

  positionOf(offset: number): { readonly line: number; readonly column: number } {
    const { line, col } = this.lines.linePos(offset)
    return line === 0 ? { line: 1, column: 1 } : { line, column: col }
  }

  /** `sallyport.yaml:12:5 auth.oauth.realm`. For a missing setting, the position of its nearest parent. */
  locate(path: SettingPath, part: 'key' | 'value' = 'value'): string {
    const place = this.at(this.offsetOf(path, part))
    return path.length === 0 ? place : `${place} ${pathText(path)}`
  }

  private offsetOf(path: SettingPath, part: 'key' | 'value'): number {
    let node: unknown = this.document.contents
    let offset = startOf(node) ?? 0
    for (const [index, step] of path.entries()) {
      const next = this.step(node, step)
      if (next === undefined) return offset
      const wantsKey = part === 'key' && index === path.length - 1
      offset = (wantsKey ? undefined : startOf(next.value)) ?? startOf(next.key) ?? offset
      node = next.value
    }
    return offset
  }

  private step(from: unknown, step: string | number): { key: unknown; value: unknown } | undefined {
    const node = isAlias(from) ? from.resolve(this.document) : from
    if (isSeq(node) && typeof step === 'number') {
      return step in node.items ? { key: undefined, value: node.items[step] } : undefined
    }
    if (!isMap(node)) return undefined
    return node.items.find(({ key }) => (isScalar(key) ? key.value : key) === step)
  }
}

function startOf(node: unknown): number | undefined {
  if (!isNode(node)) return undefined
  // An omitted value has a range of its own, after the colon; the key is easier to find.
  if (isScalar(node) && node.value === null && node.source === '') return undefined
  return node.range?.[0]
}
