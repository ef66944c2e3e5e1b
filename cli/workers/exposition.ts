/** One metric family of the Prometheus text format. */
export interface Family {
  readonly name: string
  readonly kind: string
  /** Its `# HELP` and `# TYPE`. */
  readonly head: readonly string[]
  /** Value by name and labels, as they are written. */
  readonly samples: ReadonlyMap<string, string>
}

interface MutableFamily extends Family {
  kind: string
  readonly head: string[]
  readonly samples: Map<string, string>
}

// By hand: the library merges registries of this process only, and these are of others, some of them gone.
export function familiesIn(text: string): Map<string, Family> {
  const families = new Map<string, MutableFamily>()
  let current: MutableFamily | undefined
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
