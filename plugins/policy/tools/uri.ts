import { broadest, type Glob, globOf, overlap } from 'sallyport/toolkit'
import { CUTS, type Cut, LONGEST_URI, resolved, spellingsOf, withHost } from '../spellings.js'

/** A URI, or a template of URIs, in every form in which a server could read it. */
export interface UriReadings {
  readonly written: Glob
  /** As it is, without its fragment, and without its query: a server may leave out either. */
  readonly stages: readonly (readonly Glob[])[]
  /** A deny pattern that matches one of these matches the URI. */
  readonly denied: readonly string[]
}

const SLASH = 0x2f

// By hand: a regular expression would start again at every slash of a text that does not end in one.
const withoutSlash: Cut = (text) => {
  let end = text.length
  while (text.charCodeAt(end - 1) === SLASH) end--
  return text.slice(0, end)
}

const unique = (texts: Iterable<string>): readonly string[] => [...new Set(texts)]

const formsOf = (spellings: Iterable<string>, cut: Cut): readonly string[] =>
  unique(unique(Array.from(spellings, cut)).flatMap((text) => [text, resolved(text)]))

/** The forms with the plain host that a server would contact. */
const formsByHost = (spellings: ReadonlySet<string>, cut: Cut): readonly string[] =>
  formsOf(spellings, (text) => withHost(cut(text)))

// Every server reads such a URI in the same way. With a hundred rules a judgement takes 1 microsecond instead of 10.
const PLAIN =
  /^(?:file:\/\/|(?!file:)[a-z][a-z\d+.-]*:\/\/(?:[a-z\d-]+\.)*[a-z][a-z\d-]*)(?:\/(?!\.)[\w.~!$&'()*+,;=:@-]+)+$/

/** `undefined` for a URI that no rule can judge. */
export function readingsOf(uri: string): UriReadings | undefined {
  if (uri.length > LONGEST_URI || !PLAIN.test(uri)) return allReadingsOf(uri)
  const written: Glob = [uri]
  // The form that `resolved` returns.
  const short = uri.replace(/\/{2,}/, '/')
  return { written, stages: [[written, [short]]], denied: [uri, short] }
}

/** The same for a URI of any form. */
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

/** Each expression of a template stands for any text. */
export function templateReadingsOf(template: string): UriReadings | undefined {
  const forms = compiled(template, /\{[^{}]*\}/g)
  if (forms === undefined) return undefined
  const { written, stages, byHost } = forms
  const all = [...stages.flat(), ...byHost].map(broadest)
  return { written, stages, denied: unique([...all, ...all.map(withoutSlash)]) }
}

/** A pattern of URIs, compared with every form of a URI. */
export class UriPattern {
  /** For an allow: the URI as it is written has to match one of these. */
  readonly written: readonly Glob[]
  /** For a deny: the rule denies a URI of which one form matches one of these. */
  readonly denied: readonly Glob[]

  private constructor(
    private readonly forms: UriForms,
    private readonly exact: ReadonlySet<string>,
  ) {
    this.written = exact.size === 0 ? [forms.written] : Array.from(exact, (text): Glob => [text])
    this.denied = forms.denied
  }

  /** `undefined` for a pattern that matches no URI. */
  static of(text: string): UriPattern | undefined {
    const forms = compiled(text, /\*/g)
    if (forms === undefined) return undefined
    const href = URL.canParse(text) ? new URL(text).href : text
    return new UriPattern(forms, new Set(forms.written.length === 1 ? [text, href] : []))
  }

  /** Whether the pattern matches the URI as it is written, and in every form in which a server could read it. */
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
  /** The forms with the plain host that a server would contact. */
  readonly byHost: readonly Glob[]
}

/** The forms of a text in which `wildcard` stands for any run of characters. */
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
    // In a text that begins with a wildcard the end of the host is unknown.
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

/**
 * A word that replaces wildcards while URLs are parsed: no URL library changes it, and the text does not contain it.
 */
function tokenFor(text: string): string {
  const used = new Set(`${text} ${resolved(text)}`.toLowerCase().match(/wildcard\d+x/g))
  for (let number = 0; ; number++) {
    const token = `wildcard${number}x`
    if (!used.has(token)) return token
  }
}
