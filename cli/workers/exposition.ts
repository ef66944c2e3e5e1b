/** The metrics of one process in the text form of Prometheus, taken apart. */
export interface Family {
  readonly name: string
  readonly kind: string
  /** Its `# HELP` and `# TYPE`. */
  readonly head: readonly string[]
  /** Value by name and labels, as they are written. */
  readonly samples: ReadonlyMap<string, string>
}

interface Growing extends Family {
  kind: string
  readonly head: string[]
  readonly samples: Map<string, string>
}

// By hand, since the library adds up only registries that it can reach, and these are other processes' and gone ones'.
export function familiesIn(text: string): Map<string, Family> {
  const families = new Map<string, Growing>()
  let current: Growing | undefined
  for (const line of text.split('\n')) {
    const [, word, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? []
    if (word !== undefined) {
      current = families.get(name) ?? { name, kind: 'untyped', head: [], samples: new Map() }
      families.set(name, current)
      current.head.push(line)
      if (word === 'TYPE') current.kind = rest
    } else if (line !== '' && !line.startsWith('#')) {
      const space = line.lastIndexOf(' ')
      current?.samples.set(line.slice(0, space), line.slice(space + 1))
    }
  }
  return families
}

/** The same sample, of one worker. */
export function labelled(sample: string, worker: number): string {
  const label = `worker="${worker}"`
  return sample.endsWith('}') ? `${sample.slice(0, -1)},${label}}` : `${sample}{${label}}`
}
