// The library composes nested collections by recursion, and V8 ends the process when the stack overflows
// inside a regular expression. Ordinary files are far below this limit.
const LIMIT = 100

/**
 * The part of a token of the package `yaml` that is read here. The type of that package would make every plugin
 * author install it.
 */
interface Token {
  readonly type: string
  readonly value?: Token | undefined
  readonly items?: readonly { readonly key?: Token | null | undefined; readonly value?: Token | undefined }[]
}

/**
 * Whether the collections of a YAML text, given as tokens, are nested beyond the limit. The tokenizer does not
 * recurse.
 */
export function tokensAreTooDeep(tokens: Iterable<Token>): boolean {
  for (const token of tokens) if (isTooDeep(token, tokensIn)) return true
  return false
}

/** The same for a value: aliases may nest it deeper than the text. */
export function valueIsTooDeep(value: unknown): boolean {
  return isTooDeep(value, (part) =>
    typeof part === 'object' && part !== null ? Object.values(part as object) : [],
  )
}

function isTooDeep<Part>(root: Part, within: (part: Part) => readonly Part[]): boolean {
  const open = [{ part: root, depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { part, depth } = next
    if (depth > LIMIT) return true
    for (const inner of within(part)) open.push({ part: inner, depth: depth + 1 })
  }
  return false
}

function tokensIn(token: Token): readonly Token[] {
  if (token.type === 'document') return token.value === undefined ? [] : [token.value]
  if (token.items === undefined) return []
  return token.items.flatMap((item) => [item.key, item.value]).filter((inner) => inner != null)
}
