/** One mistake in a server document, in the form of the official registry. */
export interface Issue {
  readonly type: 'json' | 'schema' | 'semantic' | 'linter'
  /** `packages[0].transport.url`; empty for the whole document. */
  readonly path: string
  readonly message: string
  /** A document is valid when none of its issues is an error. */
  readonly severity: 'error' | 'warning'
  /** The rule: a name such as `invalid-server-name`, or a path in the schema. */
  readonly reference: string
}

/** A place in a document: members and indexes from its root. */
export type Path = readonly (string | number)[]

/** An issue whose place can still be looked up in the document. */
export interface Finding extends Omit<Issue, 'path'> {
  readonly at: Path
  /** The position in the text, for an issue without a place in the document. */
  readonly offset?: number
}

export const finding = (
  type: Issue['type'],
  at: Path,
  reference: string,
  message: string,
  severity: Issue['severity'] = 'error',
): Finding => ({ type, at, message, severity, reference })

export const semantic = (at: Path, reference: string, message: string): Finding =>
  finding('semantic', at, reference, message)

export const warning = (at: Path, reference: string, message: string): Finding =>
  finding('linter', at, reference, message, 'warning')

/**
 * How many issues of one document are reported in full: a hostile document must fill neither a response nor the
 * memory.
 */
export const MOST_ISSUES = 100

/** Findings of which there may be thousands, and all of them errors. */
export interface Errors {
  /** The first of the issues. */
  readonly findings: readonly Finding[]
  readonly more: number
}

/** Characters of a text from the document that a path or a message repeats. */
const QUOTED = 100

export const quoted = (text: string): string =>
  JSON.stringify(text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text)

/** Writes a path as the official registry does. Bounded, since a member's name may be as long as a document. */
export function pathText(path: Path): string {
  const text = path.reduce<string>((before, step) => {
    if (typeof step === 'number') return `${before}[${step}]`
    const name = step.length > QUOTED ? `${step.slice(0, QUOTED)}…` : step
    return before === '' ? name : `${before}.${name}`
  }, '')
  return text.length > 3 * QUOTED ? `${text.slice(0, 3 * QUOTED)}…` : text
}

/** The response of `POST /validate`, and the verdict on a publication. */
export interface Validation {
  readonly valid: boolean
  /** Whether the bytes are JSON; if not, no other rule is checked. */
  readonly isJson: boolean
  /** The document, when every client would read it alike. */
  readonly name?: string | undefined
  readonly version?: string | undefined
  readonly issues: readonly Issue[]
}
