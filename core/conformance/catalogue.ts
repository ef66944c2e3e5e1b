import { ManagedSource } from '../contract/capabilities/managed-source.js'
import {
  type RegistryView,
  ServerCatalogue,
  type ServerQuery,
  type ServerVersion,
} from '../contract/capabilities/server-catalogue.js'
import { Source } from '../contract/capabilities/source.js'
import { GatewayError } from '../contract/errors.js'
import { within } from '../toolkit/deadline.js'
import { OFFICIAL } from '../toolkit/metadata-keys.js'
import { randomName } from './admission.js'
import {
  type CheckResult,
  type ConformanceContext,
  type ConformanceSuite,
  firstFault,
  hasName,
  Inconclusive,
  isObject,
  isText,
  messageOf,
} from './requirement.js'

export const managedSourceConformance: ConformanceSuite<ManagedSource> = {
  capability: ManagedSource,
  requirements: [
    hasName('MANAGED_SOURCE_UNNAMED'),
    {
      code: 'PUBLICATIONS_MISSING',
      statement: 'has its publications once the list is started, and always the same object',
      advice: 'open them once, in `onStart`: the store may refuse to open them twice',
      check(source) {
        const publications = source.publications()
        return publications === source.publications() ? undefined : 'each call returns another object'
      },
    },
  ],
}

/** Milliseconds in which a sync has to end after its abort. */
const ABORT_LIMIT = 1_000

export const sourceConformance: ConformanceSuite<Source> = {
  capability: Source,
  requirements: [
    {
      code: 'SOURCE_UNNAMED',
      statement: 'has a name and a location',
      advice: 'set `name` from the options, and `location` to the file or URL that it reads, without secrets',
      check: ({ name, location }) =>
        [name, location].every(isText) ? undefined : 'one of them is empty, or no text',
    },
    {
      code: 'INTERVAL_MALFORMED',
      statement: 'has an interval in milliseconds, or none',
      advice: 'set `every` to more than 0, or leave it out: 0 would sync without a pause',
      check: ({ every }) => (every === undefined || every > 0 ? undefined : `its interval is ${every}`),
    },
    {
      code: 'SOURCE_MALFORMED',
      statement: 'returns JSON as bytes',
      advice: "return { kind: 'whole', payloads } with JSON as bytes, or { kind: 'unchanged' }",
      check: (source, context) => fetched(source, context, 'format'),
    },
    {
      code: 'ABORT_IGNORED',
      statement: 'stops when its signal is aborted',
      advice:
        'pass `context.signal` to everything that waits: otherwise a gateway that stops waits for the sync',
      check: (source, context) => fetched(source, context, 'abort'),
    },
    {
      code: 'WATCH_MALFORMED',
      statement: 'watches until its watch is ended',
      advice: 'let `watch` return a function that ends the watch; it may be called twice',
      check(source) {
        const end: unknown = source.watch?.(() => {})
        if (end === undefined) return source.watch === undefined ? undefined : '`watch` returns nothing'
        if (typeof end !== 'function') return '`watch` returns no function'
        end()
        end()
        return undefined
      },
    },
  ],
}

/** Reads the source once, and aborts a read that takes too long. */
async function fetched(
  source: Source,
  { timeout }: ConformanceContext,
  about: 'format' | 'abort',
): Promise<CheckResult> {
  const controller = new AbortController()
  const context = { signal: controller.signal, bookmark: undefined, held: 0 }
  const reading = (async () => faultOf(await source.fetch(context)))()
  try {
    const fault = await within(about === 'abort' ? 0 : timeout, reading, () => new TimedOut())
    return about === 'format' ? fault : undefined
  } catch (error) {
    controller.abort(new Error('the sync was aborted'))
    if (!(error instanceof TimedOut)) return about === 'format' ? unread(error) : undefined
    const settled = (): boolean => true
    const stopped = await within(ABORT_LIMIT, reading.then(settled, settled), () => new TimedOut()).catch(
      () => false,
    )
    if (about === 'abort')
      return stopped ? undefined : `${ABORT_LIMIT / 1000} s after the abort it still reads`
    return new Inconclusive(`the source gave nothing within ${timeout / 1000} s`)
  }
}

class TimedOut extends Error {}

// A source that cannot be reached from here is not at fault.
const unread = (error: unknown): Inconclusive =>
  new Inconclusive(
    `nothing was read: ${error instanceof GatewayError ? '' : 'it throws '}${messageOf(error)}`,
  )

async function faultOf(answer: unknown): Promise<string | undefined> {
  if (!isObject(answer)) return 'it returns no result'
  const { kind, payloads, asOf } = answer
  if (kind === 'unchanged') return 'it returns "unchanged" although the registry holds no version yet'
  if (kind !== 'whole' && kind !== 'changes') return 'its result has no known kind'
  if (!isIterable(payloads)) return 'its `payloads` is not iterable'
  if (asOf !== undefined && !(asOf instanceof Date)) return '`asOf` is no Date'
  for await (const payload of payloads) {
    if (!(payload instanceof Uint8Array)) return 'a payload is not bytes'
    try {
      JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload))
    } catch {
      return 'a payload is not JSON in UTF-8'
    }
  }
  const bookmark: unknown = typeof answer['bookmark'] === 'function' ? answer['bookmark']() : ''
  return typeof bookmark === 'string' ? undefined : 'its bookmark is no text'
}

const isIterable = (value: unknown): value is AsyncIterable<unknown> | Iterable<unknown> =>
  isObject(value) && (Symbol.asyncIterator in value || Symbol.iterator in value)

const PAGE = 3
/** How many versions are checked, since registries can be large. */
const MOST = 60
const ALL: ServerQuery = { limit: MOST, includeDeleted: true }

const idOf = ({ name, version }: ServerVersion): string => `${name}@${version}`

/** The first fault in one of the registries, each as it is now. */
async function firstFaultyView(
  catalogue: ServerCatalogue,
  { timeout }: ConformanceContext,
  check: (view: RegistryView, versions: readonly ServerVersion[]) => Promise<CheckResult>,
): Promise<CheckResult> {
  const end = performance.now() + timeout
  return firstFault(catalogue.names, async (name) => {
    let view = catalogue.registry(name)
    while (view === 'loading' && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      view = catalogue.registry(name)
    }
    if (view === 'loading') return new Inconclusive(`"${name}" did not load within ${timeout / 1000} s`)
    // Another requirement reports it.
    if (view === undefined) return undefined
    const { versions = [] } = (await view.list(ALL)) ?? {}
    return versions.length === 0 ? new Inconclusive(`"${name}" is empty`) : check(view, versions)
  })
}

export const serverCatalogueConformance: ConformanceSuite<ServerCatalogue> = {
  capability: ServerCatalogue,
  requirements: [
    {
      code: 'CATALOGUE_NAMES',
      statement: 'has every registry that it names, and no other',
      advice: 'return undefined for any other name, also for `constructor`',
      async check(catalogue) {
        const { names } = catalogue
        if (new Set(names).size < names.length || !names.every(isText))
          return 'it repeats a name, or has an empty one'
        const missing = names.find((name) => {
          const view = catalogue.registry(name)
          return view === undefined || (view !== 'loading' && view.name !== name)
        })
        if (missing !== undefined) return `it names "${missing}", and has no such registry`
        const others = [randomName(), '', '__proto__', 'constructor'].filter((name) => !names.includes(name))
        const found = others.find((name) => catalogue.registry(name) !== undefined)
        return found === undefined ? undefined : `it has a registry "${found}" that it does not name`
      },
    },
    {
      code: 'CATALOGUE_PAGES',
      statement: 'lists each version once over all pages, by name and then newest first',
      advice: 'let `nextCursor` name the last version of a page, and leave it out on the last page',
      awaits: 2 + MOST / PAGE,
      check: (catalogue, context) => firstFaultyView(catalogue, context, paged),
    },
    {
      code: 'CURSOR_FOREIGN',
      statement: 'returns undefined for a cursor that it did not make',
      advice: 'check a cursor strictly: callers can send anything',
      awaits: 4,
      check: (catalogue, context) =>
        firstFaultyView(catalogue, context, (view) =>
          firstFault([randomName(), '', 'AAAA'], async (cursor) =>
            (await view.list({ ...ALL, cursor })) === undefined
              ? undefined
              : `it accepts ${JSON.stringify(cursor)} as a cursor`,
          ),
        ),
    },
    {
      code: 'QUERY_IGNORED',
      statement: 'applies every part of a query',
      advice:
        '`search` is a part of the name in any case; `version`, `updatedSince` and `includeDeleted` filter',
      awaits: 6,
      check: (catalogue, context) => firstFaultyView(catalogue, context, filtered),
    },
    {
      code: 'VERSIONS_WRONG',
      statement: 'has all versions of a server, newest first, and one latest at most',
      advice: 'return an empty list for an unknown server',
      awaits: 2 + MOST,
      check: (catalogue, context) => firstFaultyView(catalogue, context, versioned),
    },
    {
      code: 'DOCUMENT_MALFORMED',
      statement: 'returns each version as JSON with its name and version',
      advice: 'return {"server":...,"_meta":...} in UTF-8, with a tag that other bytes do not have',
      check: (catalogue, context) => firstFaultyView(catalogue, context, documented),
    },
  ],
}

async function paged(view: RegistryView, all: readonly ServerVersion[]): Promise<CheckResult> {
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await view.list({ limit: PAGE, includeDeleted: true, cursor })
    if (page === undefined) return 'it refuses its own cursor'
    if (page.versions.length > PAGE) return `a page of ${PAGE} has ${page.versions.length} versions`
    if (page.versions.length === 0 && page.nextCursor !== undefined) return 'an empty page leads to another'
    ids.push(...page.versions.map(idOf))
    cursor = page.nextCursor
  } while (cursor !== undefined && ids.length < all.length)
  if (ids.slice(0, all.length).join('\n') !== all.map(idOf).join('\n'))
    return 'the pages and the whole list have different versions'
  const disorder = all.some(({ name }, index) => name < (all[index - 1]?.name ?? ''))
  return disorder ? 'its names are not in order' : undefined
}

async function filtered(view: RegistryView, [first]: readonly ServerVersion[]): Promise<CheckResult> {
  if (first === undefined) return undefined
  const found = async (query: Partial<ServerQuery>): Promise<readonly ServerVersion[]> =>
    (await view.list({ ...ALL, ...query }))?.versions ?? []
  const part = first.name.slice(1, -1).toUpperCase()
  const named = await found({ search: part })
  if (!named.some(({ name }) => name === first.name))
    return '`search` does not find a part of a name in capitals'
  if (!named.every(({ name }) => name.toUpperCase().includes(part))) return '`search` finds other names too'
  if ((await found({ search: randomName() })).length > 0)
    return '`search` finds versions for a name that does not exist'
  if (!(await found({ version: 'latest' })).every(({ isLatest }) => isLatest))
    return '`latest` finds older versions, too'
  const { version } = first
  if (!(await found({ version })).every((each) => each.version === version))
    return '`version` finds other versions'
  if ((await found({ includeDeleted: false })).some(({ status }) => status === 'deleted'))
    return 'deleted versions are listed'
  const future = Date.now() + 100 * 365 * 86_400_000
  const old = (await found({ updatedSince: future })).find((version) => !isUndated(version))
  return old === undefined ? undefined : '`updatedSince` finds older versions'
}

/** It has the date of the epoch, so it is unknown whether it changed since another version. */
function isUndated({ json }: ServerVersion): boolean {
  const meta = Object(Object(jsonOf(Buffer.from(json).toString()))._meta)
  return Date.parse(Object(meta[OFFICIAL]).updatedAt) === 0
}

async function versioned(view: RegistryView, all: readonly ServerVersion[]): Promise<CheckResult> {
  if ((await view.versions(randomName())).length > 0) return 'it has versions of an unknown server'
  // The last server may have more versions than were checked.
  const last = all.length === MOST ? all.at(-1)?.name : undefined
  const names = [...new Set(all.map(({ name }) => name))].filter((name) => name !== last)
  return firstFault(names, async (name) => {
    const versions = await view.versions(name)
    const listed = all.filter((each) => each.name === name)
    if (versions.map(idOf).join('\n') !== listed.map(idOf).join('\n'))
      return `the versions of "${name}" differ from those in the list, or are in another order`
    return versions.filter(({ isLatest }) => isLatest).length > 1
      ? `"${name}" has two latest versions`
      : undefined
  })
}

async function documented(_view: RegistryView, all: readonly ServerVersion[]): Promise<CheckResult> {
  const bytesOf = new Map<string, string>()
  return firstFault(all, ({ name, version, json, tag }) => {
    const text = json instanceof Uint8Array ? Buffer.from(json).toString() : ''
    if (!isText(tag)) return `${name}@${version} has no tag`
    if ((bytesOf.get(tag) ?? text) !== text) return 'two documents have the same tag'
    bytesOf.set(tag, text)
    const document = jsonOf(text)
    const server = isObject(document) ? document['server'] : undefined
    return isObject(server) && server['name'] === name && server['version'] === version
      ? undefined
      : `the document of ${name}@${version} is not JSON with its name and version`
  })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
