import { normalize } from 'node:path'
import { namesLoopback } from '#core/toolkit/address.js'

const HIDDEN = '***'
// Shorter ones are also pieces of words: they are hidden where they stand as a value.
const SHORTEST = 4
// What is made of a value, such as the host of a URL, is no secret of its own when it is as short as a word.
const SHORTEST_PART = 6
// A piece of a longer one as long as this is there by no chance.
const PIECE = 12
// Characters of nobody stand for what was found until everything is.
const FIRST_MARK = 0xf0000
const MARKS = /[\u{f0000}-\u{ffffd}]/gu

const REFERENCE = /\$\{[^}]*\}/g

/** Texts that are printed nowhere, each with what is printed in its place. */
class Hidden {
  private readonly written = new Map<string, string>()
  private readonly pieces = new Set<string>()
  private pattern: RegExp | undefined
  private runs = 0

  /** From now on `value` is hidden, in any of the spellings it may have in a line. */
  add(value: string, written = HIDDEN): void {
    const isTold = value.length >= SHORTEST && written.toLowerCase().includes(value.toLowerCase())
    for (const form of formsOf(value)) {
      const key = form.toLowerCase()
      if (!this.written.has(key)) this.written.set(key, isTold ? HIDDEN : written)
      for (let at = 0; at + PIECE <= key.length; at++) this.pieces.add(key.slice(at, at + PIECE))
    }
    this.pattern = undefined
  }

  /** Runs that go on at once in one process hide the secrets of each other. */
  begin(): void {
    this.runs++
  }

  /** The last of them forgets all. */
  end(): void {
    this.runs--
    if (this.runs > 0) return
    this.written.clear()
    this.pieces.clear()
    this.pattern = undefined
  }

  /** A text without them; `starred` also hides what they were called. */
  text(text: string, starred = false): string {
    if (this.written.size === 0) return text
    this.pattern ??= patternOf([...this.written.keys()])
    const found: string[] = []
    const marked = text.replace(this.pattern, (form) => {
      const written = this.written.get(form.toLowerCase()) ?? HIDDEN
      found.push(starred ? written.replaceAll(REFERENCE, HIDDEN) : written)
      return String.fromCodePoint(FIRST_MARK + found.length - 1)
    })
    const markOf = (mark: string): number => (mark.codePointAt(0) ?? 0) - FIRST_MARK
    return this.withoutPieces(marked).replaceAll(MARKS, (mark) => found[markOf(mark)] ?? HIDDEN)
  }

  /** The same for a value of settings, and for all in it. */
  value(value: unknown, starred = false): unknown {
    if (typeof value === 'string') return this.text(value, starred)
    if (Array.isArray(value)) return value.map((item) => this.value(item, starred))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [this.text(key, starred), this.value(item, starred)]),
    )
  }

  private withoutPieces(text: string): string {
    const lower = text.toLowerCase()
    // Some letters are longer in lower case: then nothing is where it was.
    if (this.pieces.size === 0 || lower.length !== text.length) return text
    let result = ''
    for (let at = 0; at < text.length; ) {
      let end = at
      for (let from = at; from <= end && this.pieces.has(lower.slice(from, from + PIECE)); from++) {
        end = from + PIECE
      }
      result += end > at ? HIDDEN : text.charAt(at)
      at = Math.max(end, at + 1)
    }
    return result
  }
}

/** What came from the environment, a file or a secret flag: no line for a person has it. */
export const hidden = new Hidden()

function patternOf(forms: readonly string[]): RegExp {
  const sources = forms.toSorted((a, b) => b.length - a.length).map(sourceOf)
  return new RegExp(sources.join('|'), 'gi')
}

function sourceOf(form: string): string {
  const escaped = form.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
  return form.length < SHORTEST ? `(?<=["'\`/=])${escaped}(?=["'\`/:,;)\\s]|$)` : escaped
}

/** A value, and what else is made of it: paths, and parts of URLs. */
export function partsOf(value: string): readonly string[] {
  const parts = [value.trim(), ...pathsOf(value.trim()), ...urlsOf(value.trim())]
  return [value, ...parts.filter((part) => part.length >= SHORTEST_PART)]
}

/** The spellings of all that in a line. */
function formsOf(value: string): readonly string[] {
  const forms = partsOf(value).flatMap((form) => {
    const text = Buffer.from(form).toString()
    const json = JSON.stringify(form).slice(1, -1)
    return [
      form,
      json,
      encodeURI(text),
      encodeURIComponent(text),
      `${new URLSearchParams({ '': text })}`.slice(1),
    ]
  })
  return [...new Set(forms)].filter((form) => form !== '')
}

/** As it ends a path that was put together. */
function pathsOf(value: string): readonly string[] {
  const path = normalize(value).replace(/^(?:\.{1,2}\/)+/, '')
  return [path, path.replace(/\/+$/, '')]
}

function urlsOf(value: string): readonly string[] {
  if (!URL.canParse(value)) return []
  const url = new URL(value)
  const { href, host, hostname, pathname } = url
  // Without its own address, each line about a client on this machine would lack it.
  const hosts = namesLoopback(url) ? [] : [host, hostname]
  return [href, href.replace(/\/$/, ''), ...hosts, pathname]
}
