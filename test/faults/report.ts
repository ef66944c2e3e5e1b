/** A count, with its expected value. */
export interface Bound {
  readonly what: string
  readonly found: number
  readonly expected: number
}

export interface Report {
  readonly minutes: number
  readonly faults: Readonly<Record<string, number>>
  readonly counts: Readonly<Record<string, number>>
  readonly bounds: readonly Bound[]
  /** The first failures. */
  readonly failures: readonly string[]
  readonly held: boolean
}

/** The report as Markdown. */
export function asText({ minutes, faults, counts, bounds, failures, held }: Report): string {
  const sum = Object.values(faults).reduce((total, count) => total + count, 0)
  const parts = [
    `${minutes.toFixed(1)} minutes, ${sum} faults, Node ${process.version}: ${held ? 'held' : 'NOT held'}`,
    table(['fault', 'times'], Object.entries(faults)),
    table(['count', ''], Object.entries(counts)),
    table(
      ['bound', 'expected', 'found', ''],
      bounds.map(({ what, expected, found }) => [
        what,
        expected,
        found,
        found === expected ? 'held' : 'BROKEN',
      ]),
    ),
    ...(failures.length === 0 ? [] : [`The first failures:\n${failures.join('\n')}`]),
  ]
  return parts.join('\n\n')
}

const table = (head: readonly string[], lines: readonly (readonly (string | number)[])[]): string =>
  [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
