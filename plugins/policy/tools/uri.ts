import { broadest, type Glob, globOf, overlap } from 'sallyport/toolkit'
import { CUTS, type Cut, LONGEST_URI, resolved, spellingsOf, withHost } from '../spellings.js'

/** A URI, or a template of URIs, in every form that a server could read it in. */
export interface UriReadings {
  readonly written: Glob
  /** As it is, without its fragment, and without its query: a server may leave out either. */
  readonly stages: readonly (readonly Glob[])[]
  /** What a deny pattern has to match one of. */
  readonly denied: readonly string[]
}

const SLASH = 0x2f

// By hand: a regular expression would begin again at every slash of a text that ends in none.
const withoutSlash: Cut = (text) => {
  let end = text.length
  while (text.charCodeAt(end - 1) === SLASH) end--
  return text.slice(0, end)
}

const unique = (texts: Iterable<string>): readonly string[] => [...new Set(texts)]

const formsOf = (spellings: Iterable<string>, cut: Cut): readonly string[] =>
  unique(unique(Array.from(spellings, cut)).flatMap((text) => [text, resolved(text)]))

/** The forms with the host that a server asks in the end. */
const formsByHost = (spellings: ReadonlySet<string>, cut: Cut): readonly string[] =>
  formsOf(spellings, (text) => withHost(cut(text)))

// Every server takes such a URI for what it says. With a hundred rules a look takes 1 microsecond, and not 10.
const PLAIN =
  /^(?:file:\/\/|(?!file:)[a-z][a-z\d+.-]*:\/\/(?:[a-z\d-]+\.)*[a-z][a-z\d-]*)(?:\/(?!\.)[\w.~!$&'()*+,;=:@-]+)+$/

/** `undefined` for one that no rule can judge. */
export function readingsOf(uri: string): UriReadings | undefined {
  if (uri.length > LONGEST_URI || !PLAIN.test(uri)) return allReadingsOf(uri)
  const written: Glob = [uri]
  // As `resolved` leaves it.
  const short = uri.replace(/\/{2,}/, '/')
  return { written, stages: [[written, [short]]], denied: [uri, short] }
}

/** The same, whatever the URI looks like. */
export function allReadingsOf(uri: string): UriReadings | undefined {
  const spellings = spellingsOf(uri)
  if (spellings === undefined) return undefined
  const cuts = /[?#]|%/.test(uri) ? CUTS : CUTS.slice(0, 1)
  const stages = cuts.map((cut) => formsOf(spellings, cut))
  const all = [...stages.flat(), ...cuts.flatMap((cut) => formsByHost(spellings, cut))]
  return {
    written: [uri],
    stages: stages.map((forms) => forms.map((form): Glob => [form])),
    denied: unique([...all, ...all.map(withoutSlash)]),
  }
}

/** Each expression of a template stands for anything. */
export function templateReadingsOf(template: string): UriReadings | undefined {
  const forms = compiled(template, /\{[^{}]*\}/g)
  if (forms === undefined) return undefined
  const { written, stages, byHost } = forms
  const all = [...stages.flat(), ...byHost].map(broadest)
  return { written, stages, denied: unique([...all, ...all.map(withoutSlash)]) }
}

/** A pattern of URIs; it is matched against every form of one. */
export class UriPattern {
  /** What a URI has to match as it is written, for an allow. */
  readonly written: readonly Glob[]
  /** What no form of a URI may match, for a deny. */
  readonly denied: readonly Glob[]

  private constructor(
    private readonly forms: UriForms,
    private readonly exact: ReadonlySet<string>,
  ) {
    this.written = exact.size === 0 ? [forms.written] : Array.from(exact, (text): Glob => [text])
    this.denied = forms.denied
  }

  /** `undefined` for one that matches no URI. */
  static of(text: string): UriPattern | undefined {
    const forms = compiled(text, /\*/g)
    if (forms === undefined) return undefined
    const href = URL.canParse(text) ? new URL(text).href : text
    return new UriPattern(forms, new Set(forms.written.length === 1 ? [text, href] : []))
  }

  /** In the spelling of the pattern, and in every other that a server could take it for. */
  allows({ written, stages }: UriReadings): boolean {
    if (written.length === 1 && this.exact.has(written[0])) return true
    return (
      overlap(this.forms.written, written) &&
      stages.every((globs, stage) =>
        globs.every((glob) => this.forms.stages[stage]?.some((own) => overlap(own, glob))),
      )
    )
  }
}

interface UriForms {
  readonly written: Glob
  readonly stages: readonly (readonly Glob[])[]
  readonly denied: readonly Glob[]
  /** With the host that a server asks in the end. */
  readonly byHost: readonly Glob[]
}

/** The forms of a text in which something stands for any run of characters. */
function compiled(text: string, wildcard: RegExp): UriForms | undefined {
  if (text.length > LONGEST_URI) return undefined
  const token = tokenFor(text)
  const named = text.replaceAll(wildcard, token)
  const spellings = spellingsOf(named)
  if (spellings === undefined) return undefined
  const globs = (forms: readonly string[]): readonly Glob[] =>
    unique(forms).map((form) => globOf(form, token))
  const stages = CUTS.map((cut) => [
    ...formsOf(spellings, cut),
    // Where it begins with a wildcard nobody knows where its host ends.
    ...[...spellings].map((spelling) => resolved(cut(spelling), false)),
  ])
  const [whole = []] = stages
  return {
    written: globOf(named, token),
    stages: stages.map(globs),
    denied: globs([...whole, ...whole.map(withoutSlash)]),
    byHost: globs(CUTS.flatMap((cut) => formsByHost(spellings, cut))),
  }
}

/** A word that stands for a wildcard while URLs are parsed: no URL library changes it, and the text has it nowhere. */
function tokenFor(text: string): string {
  const taken = new Set(`${text} ${resolved(text)}`.toLowerCase().match(/wildcard\d+x/g))
  for (let number = 0; ; number++) {
    const token = `wildcard${number}x`
    if (!taken.has(token)) return token
  }
}
