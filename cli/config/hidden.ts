import { normalize } from 'node:path'
import { namesLoopback } from '#core/toolkit/address.js'

const HIDDEN = '***'
// A shorter value may also be part of a word: it is hidden only where it stands alone as a value.
const MIN_LENGTH = 4
// A part of a value, such as the host of a URL, is no secret when it is as short as a word.
const MIN_PART_LENGTH = 6
// A piece of a secret of this length does not occur by chance.
const PIECE_LENGTH = 12
// Private-use characters mark the found values until all are found.
const FIRST_MARK = 0xf0000
const MARKS = /[\u{f0000}-\u{ffffd}]/gu

const REFERENCE = /\$\{[^}]*\}/g

/** Texts that no output may show, each with its replacement. */
class Hidden {
  private readonly written = new Map<string, string>()
  private readonly pieces = new Set<string>()
  private pattern: RegExp | undefined
  private runs = 0

  /** Hides `value` from now on, in each of its spellings in a line. */
  add(value: string, written = HIDDEN): void {
    const showsValue = value.length >= MIN_LENGTH && written.toLowerCase().includes(value.toLowerCase())
    for (const form of formsOf(value)) {
      const key = form.toLowerCase()
      if (!this.written.has(key)) this.written.set(key, showsValue ? HIDDEN : written)
      for (let at = 0; at + PIECE_LENGTH <= key.length; at++)
        this.pieces.add(key.slice(at, at + PIECE_LENGTH))
    }
    this.pattern = undefined
  }

  /** Call it when a run begins. Runs at the same time in one process hide each other's secrets. */
  begin(): void {
    this.runs++
  }

  /** Call it when a run ends. The last run forgets all texts. */
  end(): void {
    this.runs--
    if (this.runs > 0) return
    this.written.clear()
    this.pieces.clear()
    this.pattern = undefined
  }

  /** Replaces hidden texts; `starred` also hides their references, such as `${env:NAME}`. */
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

  /** Does the same in a value of settings, and in all values inside it. */
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
    // Some letters are longer in lower case: then the positions differ.
    if (this.pieces.size === 0 || lower.length !== text.length) return text
    let result = ''
    for (let at = 0; at < text.length; ) {
      let end = at
      for (let from = at; from <= end && this.pieces.has(lower.slice(from, from + PIECE_LENGTH)); from++) {
        end = from + PIECE_LENGTH
      }
      result += end > at ? HIDDEN : text.charAt(at)
      at = Math.max(end, at + 1)
    }
    return result
  }
}

/** Values from the environment, a file or a secret flag. No printed line may show one. */
export const hidden = new Hidden()

function patternOf(forms: readonly string[]): RegExp {
  const sources = forms.toSorted((a, b) => b.length - a.length).map(sourceOf)
  return new RegExp(sources.join('|'), 'gi')
}

function sourceOf(form: string): string {
  const escaped = form.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
  return form.length < MIN_LENGTH ? `(?<=["'\`/=])${escaped}(?=["'\`/:,;)\\s]|$)` : escaped
}

/** A value, and the paths and parts of URLs that are made of it. */
export function partsOf(value: string): readonly string[] {
  const parts = [value.trim(), ...pathsOf(value.trim()), ...urlsOf(value.trim())]
  return [value, ...parts.filter((part) => part.length >= MIN_PART_LENGTH)]
}

/** The spellings in a line of a value and its parts. */
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

/** The value as the end of a joined path. */
function pathsOf(value: string): readonly string[] {
  const path = normalize(value).replace(/^(?:\.{1,2}\/)+/, '')
  return [path, path.replace(/\/+$/, '')]
}

function urlsOf(value: string): readonly string[] {
  if (!URL.canParse(value)) return []
  const url = new URL(value)
  const { href, host, hostname, pathname } = url
  // Otherwise no line about a client on this machine would show its address.
  const hosts = namesLoopback(url) ? [] : [host, hostname]
  return [href, href.replace(/\/$/, ''), ...hosts, pathname]
}
