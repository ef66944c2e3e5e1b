/** One mistake in the configuration. The value is never part of it: it may be a secret. */
export interface Problem {
  /** Where: a flag, or file, line and JSON path, as far as they are known. */
  readonly place: string
  /** The mistake, and the expected value. */
  readonly message: string
  /** The nearest known name, when the one that was written is unknown. */
  readonly suggestion?: string
}

/** A problem as a line of text. */
export function problemLine({ place, message, suggestion }: Problem): string {
  const hint = suggestion === undefined ? '' : ` (did you mean "${suggestion}"?)`
  return `${place}: ${message}${hint}`
}

/** The problem of an unknown name, with the nearest known one, or with all known names when none is near. */
export function unknownName(
  message: string,
  written: string,
  known: readonly string[],
): Omit<Problem, 'place'> {
  const suggestion = nearest(written, known)
  if (suggestion !== undefined) return { message, suggestion }
  return { message: known.length === 0 ? message : `${message}; known here: ${known.join(', ')}` }
}

/** The known name nearest to `written`: one letter away, or one that begins with it, or a few letters away. */
export function nearest(written: string, known: Iterable<string>): string | undefined {
  const names = [...known]
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(written.length / 3)) + 1
  for (const name of names) {
    const distance = editDistance(written.toLowerCase(), name.toLowerCase())
    if (distance < bestDistance) {
      best = name
      bestDistance = distance
    }
  }
  if (bestDistance <= 1 || written.length < 3) return best
  return beginningWith(written.toLowerCase(), names) ?? best
}

/** The shortest name that begins with `written`. */
function beginningWith(written: string, known: readonly string[]): string | undefined {
  const whole = known.filter((name) => name.toLowerCase().startsWith(written))
  return whole.toSorted((a, b) => a.length - b.length)[0]
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      const removed = (previous[column] ?? 0) + 1
      const added = (current[column - 1] ?? 0) + 1
      current.push(Math.min(replaced, removed, added))
    }
    previous = current
  }
  return previous[b.length] ?? 0
}
