import type { CST } from 'yaml'
import { Parser } from 'yaml'
import { isMapping } from './path.js'

// The library composes nested collections by recursion, and V8 ends the process when the stack overflows
// inside a regular expression. No sensible file comes near this.
const limit = 100

/** Whether the text holds collections inside each other beyond the limit. The parser below it keeps its own stack. */
export function textIsTooDeep(source: string): boolean {
  for (const token of new Parser().parse(source)) if (isTooDeep(token, tokensIn)) return true
  return false
}

/** The same for a value, in which aliases may have added to the depth of the text. */
export function valueIsTooDeep(value: unknown): boolean {
  return isTooDeep(value, (part) => (Array.isArray(part) ? part : isMapping(part) ? Object.values(part) : []))
}

function isTooDeep<Part>(root: Part, within: (part: Part) => readonly Part[]): boolean {
  const open = [{ part: root, depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { part, depth } = next
    if (depth > limit) return true
    for (const inner of within(part)) open.push({ part: inner, depth: depth + 1 })
  }
  return false
}

function tokensIn(token: CST.Token): readonly CST.Token[] {
  if (token.type === 'document') return token.value === undefined ? [] : [token.value]
  if (!('items' in token)) return []
  return token.items.flatMap((item) => [item.key, item.value]).filter((inner) => inner != null)
}
