import type {
  PublicationActor,
  PublicationLimits,
  PublicationState,
  Publications,
} from '../contract/capabilities/publications.js'
import { Refusal } from '../contract/errors.js'
import { OFFICIAL } from '../toolkit/metadata-keys.js'
import { type CheckResult, messageOf } from './requirement.js'

const never = new AbortController().signal
export const actor: PublicationActor = {
  provider: 'conformance',
  subject: 'somebody',
  issuer: 'https://issuer.example/',
}
const limits = { maxVersions: 1_000 }

// Numbers, escapes, white space and repeated members, which parsing and writing again would change.
export const DOCUMENT = Buffer.from(
  '{ "n": 1.0,\r\n\t"n": 1e400, "text": "\\u0061\\ud800 \u2028ä\u{1f600}", "list": [ ] }',
)

export const ODD_NAMES = [
  `it's/"quoted"`,
  'back\\slash/%s$x',
  'ä/\u{1f600}\u2028',
  '__proto__/constructor',
  `a/${'x'.repeat(198)}`,
  ' / ',
  "'; drop table x; --",
]

export const publish = (
  publications: Publications,
  name: string,
  version: string,
  more: Partial<PublicationLimits> = {},
  by = actor,
) => publications.publish({ name, version, server: DOCUMENT }, by, { ...limits, ...more })

/** The status and the code of the refusal. */
export async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'not refused'
  } catch (error) {
    return error instanceof Refusal ? `${error.statusCode} ${error.code}` : messageOf(error)
  }
}

export const expects = (found: string, expected: string, what: string): CheckResult =>
  found === expected ? undefined : `${what}: "${found}" instead of "${expected}"`

/** The contents that a read returns, by name and version. */
export async function readAll(publications: Publications, since?: string) {
  const { kind, payloads, revision } = await publications.read(since, never)
  const texts: string[] = []
  for await (const payload of payloads) texts.push(Buffer.from(payload).toString())
  return { kind, texts, revision: revision() }
}

export const stateOf = (text: string): PublicationState & Readonly<Record<string, unknown>> =>
  JSON.parse(text)._meta[OFFICIAL]
