// By hand: regular expressions made of patterns take time that grows with the square of the name, or faster.

/** A pattern with `*` for any run of characters, as the texts between its stars: one text when it has no star. */
export type Glob = readonly [string, ...string[]]

export function globOf(pattern: string, wildcard = '*'): Glob {
  const [first = '', ...rest] = pattern.split(wildcard)
  return [first, ...rest]
}

/** Whether a text matches: in one pass, without backtracking. */
export function matches(glob: Glob, text: string): boolean {
  // No copies of the parts: a request is matched with many patterns, and each copy would cost as much as the match.
  const first = glob[0]
  const middle = glob.length - 1
  if (middle === 0) return text === first
  const last = glob[middle] ?? ''
  const end = text.length - last.length
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false
  let from = first.length
  for (let index = 1; index < middle; index++) {
    const part = glob[index] ?? ''
    const at = text.indexOf(part, from)
    if (at < 0 || at + part.length > end) return false
    from = at + part.length
  }
  return true
}

/** Whether some text matches both. */
export function overlap(one: Glob, other: Glob): boolean {
  if (other.length === 1) return matches(one, other[0])
  if (one.length === 1) return matches(other, one[0])
  const [oneEnd, otherEnd] = [one.at(-1) ?? '', other.at(-1) ?? '']
  return (
    (one[0].startsWith(other[0]) || other[0].startsWith(one[0])) &&
    (oneEnd.endsWith(otherEnd) || otherEnd.endsWith(oneEnd))
  )
}

// Options refuse this character in patterns.
const ANYTHING = '\0'

/** A text that another pattern matches only when it matches every text that this pattern matches. */
export const broadest = (glob: Glob): string => glob.join(ANYTHING)

export const covers = (one: Glob, other: Glob): boolean => matches(one, broadest(other))
