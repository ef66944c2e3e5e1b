const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const TEXT = '(?:[^\\\\"\\n]|\\\\["n\\\\])*'
const LABELS = `(?:[a-zA-Z_][a-zA-Z0-9_]*="${TEXT}"(?:,(?=[a-zA-Z_])|(?=})))*`
const NUMBER = '(?:[+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:e[+-]?\\d+)?|[+-]?inf|nan)'
const SAMPLE = new RegExp(
  `^(${NAME})(?:\\{(${LABELS})\\})? (${NUMBER})(?: # \\{(${LABELS})\\} (${NUMBER}) (\\d+(?:\\.\\d+)?))?$`,
  'i',
)
const METADATA = new RegExp(`^# (HELP|TYPE|UNIT) (${NAME}) (${TEXT})$`)

const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total', '_created'],
  gauge: [''],
  histogram: ['_bucket', '_count', '_sum', '_created'],
  info: ['_info'],
  unknown: [''],
}

export interface OpenMetricsSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  readonly exemplar?: { readonly labels: Readonly<Record<string, string>>; readonly value: number }
}

interface Family {
  readonly name: string
  readonly metadata: Set<string>
  type: string
  readonly samples: Map<string, OpenMetricsSample>
}

/** Reads OpenMetrics 1.0.0. Throws at everything that its specification forbids, also where scrapers are lenient. */
export function readOpenMetrics(text: string): readonly OpenMetricsSample[] {
  if (!text.endsWith('\n# EOF\n')) throw new Error('the text does not end with # EOF')
  const families = new Map<string, Family>()
  let current: Family | undefined
  for (const line of text.slice(0, -'# EOF\n'.length - 1).split('\n')) {
    const [, word, name = '', rest = ''] = METADATA.exec(line) ?? []
    if (word === undefined) addSample(line, current)
    else {
      if (current?.name !== name) {
        if (families.has(name)) throw new Error(`the lines of this family are not together: ${line}`)
        current = { name, metadata: new Set(), type: 'unknown', samples: new Map() }
        families.set(name, current)
      }
      if (current.metadata.has(word) || current.samples.size > 0)
        throw new Error(`metadata twice, or after samples: ${line}`)
      current.metadata.add(word)
      if (word === 'TYPE') current.type = rest
    }
  }
  for (const family of families.values()) {
    for (const suffix of SUFFIXES[family.type] ?? [])
      if (suffix !== '' && families.has(family.name + suffix))
        throw new Error(`${family.name}: two families clash`)
    if (family.type === 'histogram') checkHistogram(family)
  }
  return [...families.values()].flatMap(({ samples }) => [...samples.values()])
}

function addSample(line: string, family: Family | undefined): void {
  const [, name = '', labels = '', value = '', ofExemplar, exemplarValue = ''] =
    SAMPLE.exec(line) ?? fail(`not a line of OpenMetrics: ${line}`)
  if (family === undefined) throw new Error(`a sample without a family: ${line}`)
  const suffix = name.slice(family.name.length)
  if (!name.startsWith(family.name) || !(SUFFIXES[family.type] ?? []).includes(suffix))
    throw new Error(`not a name of the ${family.type} ${family.name}: ${line}`)
  if (family.type === 'counter' && !(Number(value) >= 0)) throw new Error(`a counter below 0: ${line}`)
  if (ofExemplar !== undefined && suffix !== '_total' && suffix !== '_bucket')
    throw new Error(`an exemplar that is not allowed here: ${line}`)
  const sample: OpenMetricsSample = {
    name,
    labels: labelsOf(labels),
    value: numberOf(value),
    ...(ofExemplar !== undefined && {
      exemplar: { labels: labelsOf(ofExemplar), value: numberOf(exemplarValue) },
    }),
  }
  const key = name + keyOf(sample.labels)
  if (family.samples.has(key)) throw new Error(`the same sample twice: ${line}`)
  const size = Object.entries(sample.exemplar?.labels ?? {}).reduce(
    (sum, [label, text]) => sum + Array.from(label + text).length,
    0,
  )
  if (size > 128) throw new Error(`an exemplar of ${size} characters: ${line}`)
  family.samples.set(key, sample)
}

function checkHistogram({ name, samples }: Family): void {
  const series = new Map<string, OpenMetricsSample[]>()
  for (const sample of samples.values()) {
    const { le: _, ...labels } = sample.labels
    const key = keyOf(labels)
    series.set(key, [...(series.get(key) ?? []), sample])
  }
  for (const [key, own] of series) {
    const say = (what: string): never => fail(`${name}${key}: ${what}`)
    let [below, count] = [Number.NEGATIVE_INFINITY, 0]
    for (const { labels, value, exemplar } of own.filter((sample) => sample.name === `${name}_bucket`)) {
      const le = labels['le'] ?? say('a bucket without le')
      if (le !== '+Inf' && !/[.e]/.test(le)) say(`le="${le}" has no fraction`)
      const bound = numberOf(le)
      if (!(bound > below) || value < count) say(`le="${le}" is out of order`)
      if (exemplar !== undefined && !(exemplar.value > below && exemplar.value <= bound))
        say(`the exemplar of le="${le}" belongs to another bucket`)
      ;[below, count] = [bound, value]
    }
    const total = own.find((sample) => sample.name === `${name}_count`)?.value
    if (below !== Number.POSITIVE_INFINITY || total !== count) say('the bucket +Inf differs from the count')
  }
}

function labelsOf(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/(\w+)="((?:[^\\"]|\\.)*)"/g)].map(([, name = '', value = '']) => [
    name,
    value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped)),
  ])
  const labels: Record<string, string> = Object.fromEntries(pairs)
  if (Object.keys(labels).length < pairs.length) throw new Error(`the same label twice: ${text}`)
  return labels
}

const keyOf = (labels: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)))

const numberOf = (text: string): number =>
  /inf/i.test(text)
    ? (text.startsWith('-') ? -1 : 1) * Number.POSITIVE_INFINITY
    : /nan/i.test(text)
      ? Number.NaN
      : Number(text)

function fail(message: string): never {
  throw new Error(message)
}
