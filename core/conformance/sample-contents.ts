import type {
  ContentsChange,
  StoredContents,
  StoredDocument,
} from '../contract/capabilities/catalogue-store.js'

interface SampleDocument extends StoredDocument {
  readonly text: string
}

// A store keeps the text of a document unchanged: numbers, order and repeated members too.
const document = (version: string, more = ''): SampleDocument => {
  const name = 'a.example/conformance'
  const text = `{"server":{"name":"${name}","version":${JSON.stringify(version)},"x":[1.0,1e400,12345678901234567890],"b":1,"a":"\\u0000\\ud800${more}","b":2},"_meta":{}}`
  return { name, version, document: Buffer.from(text), text }
}

export const [one, two, changed] = [document('1.0.0'), document('\0 %_😀'), document('\0 %_😀', 'changed')]

export const change = (given: Partial<ContentsChange>): ContentsChange => ({
  changed: [],
  removed: [],
  all: [],
  bookmark: undefined,
  ...given,
})

export const first = change({ changed: [one, two], all: [one, two], bookmark: '{"since":1}' })
export const second = change({ changed: [changed], removed: [one], all: [changed] })

/** The stored text, and the versions in it. */
async function readFrom(
  stored: StoredContents,
): Promise<{ readonly text: string; readonly versions: string }> {
  const texts: string[] = []
  for await (const payload of stored.payloads)
    texts.push(new TextDecoder('utf-8', { fatal: true }).decode(payload))
  const values = texts.map((text): unknown => JSON.parse(text)).map((value) => Object(value).servers ?? value)
  const versions = values.flat().map((value) => JSON.stringify(Object(Object(value).server).version))
  return { text: texts.join('\n'), versions: versions.toSorted().join() }
}

/** How the stored versions differ from these. */
export async function faultIn(
  stored: StoredContents | undefined,
  expected: readonly SampleDocument[],
): Promise<string | undefined> {
  if (stored === undefined) return 'the written contents are gone'
  return differenceOf(await readFrom(stored), expected)
}

/** How the stored contents differ from these, byte for byte, and from this bookmark. */
export async function lossIn(
  stored: StoredContents | undefined,
  expected: readonly SampleDocument[],
  bookmark: string | undefined,
): Promise<string | undefined> {
  if (stored === undefined) return 'the written contents are gone'
  const read = await readFrom(stored)
  if (!expected.every(({ text }) => read.text.includes(text))) return 'a document is changed or missing'
  return stored.bookmark === bookmark ? differenceOf(read, expected) : 'the bookmark comes back changed'
}

function differenceOf({ versions }: { readonly versions: string }, expected: readonly SampleDocument[]) {
  const wanted = expected
    .map(({ version }) => JSON.stringify(version))
    .toSorted()
    .join()
  return versions === wanted ? undefined : `it has the versions ${versions || '(none)'} instead of ${wanted}`
}
