import { setImmediate } from 'node:timers/promises'
import type { RegistryView, ServerVersion } from 'sallyport'
import { summaryOf } from './server-details.js'

/** A server as the search sees it, in lower case. */
interface Indexed {
  readonly version: ServerVersion
  readonly name: string
  /** The part after the namespace: a prefix such as `io.github.` says nothing about a server. */
  readonly lastPart: string
  readonly title: string
  readonly description: string
}

export interface SearchPage {
  readonly versions: readonly ServerVersion[]
  /** The index at which the next page begins. */
  readonly next: number | undefined
}

// How many documents to parse between two turns of the event loop.
const BATCH = 50

/** Searches names, titles and descriptions of the latest versions. Views are immutable, so each is indexed once. */
export class ServerSearch {
  private readonly indexOf = memoized(async (view) => {
    const index: Indexed[] = []
    for await (const versions of latestOf(view)) index.push(...versions.map(indexed))
    return index
  })

  /** How many servers a registry has, without parsing their documents. */
  readonly count = memoized(async (view) => {
    let count = 0
    for await (const { length } of latestOf(view)) count += length
    return count
  })

  async find(view: RegistryView, search: string, from: number, limit: number): Promise<SearchPage> {
    const found = await ranked(await this.indexOf(view), search)
    const next = from + limit
    return { versions: found.slice(from, next), next: next < found.length ? next : undefined }
  }
}

/** The index of each view, made once unless that fails. */
function memoized<T>(make: (view: RegistryView) => Promise<T>): (view: RegistryView) => Promise<T> {
  const made = new WeakMap<RegistryView, Promise<T>>()
  return (view) => {
    const known = made.get(view)
    if (known !== undefined) return known
    const making = make(view)
    made.set(view, making)
    making.catch(() => made.delete(view))
    return making
  }
}

/** The latest version of each server, in batches, with turns of the event loop in between. */
async function* latestOf(view: RegistryView): AsyncGenerator<readonly ServerVersion[]> {
  let cursor: string | undefined
  do {
    const page = await view.list({ limit: BATCH, cursor, version: 'latest', includeDeleted: false })
    yield page?.versions ?? []
    cursor = page?.nextCursor
    await setImmediate()
  } while (cursor !== undefined)
}

function indexed(version: ServerVersion): Indexed {
  const { title = '', description = '' } = summaryOf(version)
  const name = version.name.toLowerCase()
  return {
    version,
    name,
    lastPart: name.slice(name.lastIndexOf('/') + 1),
    title: title.toLowerCase(),
    description: description.toLowerCase(),
  }
}

// The most words of a search: each is compared with every server.
const MAX_WORDS = 8
/** How many servers to compare between two turns of the event loop. */
const SLICE = 250

/** The servers that have every word, the best first, and equally good ones in the order of their names. */
async function ranked(index: readonly Indexed[], search: string): Promise<readonly ServerVersion[]> {
  const words = [...new Set(search.toLowerCase().split(/\s+/).filter(Boolean))].slice(0, MAX_WORDS)
  const found: { readonly version: ServerVersion; readonly score: number }[] = []
  for (const [at, server] of index.entries()) {
    if (at % SLICE === SLICE - 1) await setImmediate()
    const score = scoreOf(server, words)
    if (score > 0) found.push({ version: server.version, score })
  }
  return found.sort((a, b) => b.score - a.score).map(({ version }) => version)
}

function scoreOf(server: Indexed, words: readonly string[]): number {
  let sum = 0
  for (const word of words) {
    const score = wordScore(server, word)
    if (score === 0) return 0
    sum += score
  }
  return sum
}

// Only a word with a slash, which includes a namespace, is compared with the whole name.
const wordScore = ({ name, lastPart, title, description }: Indexed, word: string): number =>
  (lastPart === word ? 32 : 0) +
  (word.includes('/') && name.includes(word) ? 16 : 0) +
  8 * matchScore(lastPart, word) +
  4 * matchScore(title, word) +
  matchScore(description, word)

/** 3 for a whole word, 2 for the beginning of one, 1 for any other part. */
function matchScore(text: string, word: string): number {
  let best = 0
  for (let at = text.indexOf(word); at !== -1 && best < 3; at = text.indexOf(word, at + 1)) {
    const begins = !isLetter(text, at - 1)
    const score = begins ? (isLetter(text, at + word.length) ? 2 : 3) : 1
    best = Math.max(best, score)
  }
  return best
}

const isLetter = (text: string, at: number): boolean => /[\p{L}\p{N}]/u.test(text.charAt(at))
