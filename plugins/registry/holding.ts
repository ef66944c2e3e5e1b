import type { Fetched } from 'sallyport'
import { Arena } from './arena.js'
import { type Breath, sortedInSlices } from './breath.js'
import type { HeldVersion } from './held-version.js'
import { documentsIn, Intake, type RefusedDocument } from './intake.js'
import { JsonScan } from './json-scan.js'
import { byText, newestFirst, orderKey } from './version-order.js'

/** A server with all its versions, newest first. */
export interface HeldServer {
  readonly name: string
  /** The name in lower case, for searching. */
  readonly searchable: string
  readonly versions: readonly HeldVersion[]
  /** When the youngest change among them was made. */
  readonly updatedAt: number
}

/** What is held from one source: an immutable list of servers by name. */
export interface Holding {
  readonly servers: readonly HeldServer[]
  readonly byName: ReadonlyMap<string, HeldServer>
  readonly size: number
}

export const NOTHING: Holding = { servers: [], byName: new Map<string, HeldServer>(), size: 0 }

export interface Gathered {
  readonly holding: Holding
  readonly changed: boolean
  readonly refused: readonly RefusedDocument[]
}

type Found = Exclude<Fetched, { kind: 'unchanged' }>

/** Reads everything a source found and lays it beside what was held before, which stays untouched. */
export async function gather(
  found: Found,
  before: Holding,
  maxDocumentBytes: number,
  breath: Breath,
): Promise<Gathered> {
  const known = new Before(before)
  await known.learn(breath)
  const { versions, refused } = await admitted(found, known, maxDocumentBytes, breath)
  if (versions.size === 0 && refused.length > 0 && found.kind === 'whole') {
    const [first] = refused
    throw new Error(`none of its ${refused.length} documents can be taken; ${first?.name}: ${first?.reason}`)
  }
  const arena = new Arena()
  const kept = found.kind === 'changes' ? before : NOTHING
  const byName = new Map(kept.byName)
  let changed = false
  for (const [name, given] of versions) {
    const old = before.byName.get(name)
    const server = serverOf(name, given, kept.byName.get(name), known, arena)
    if (server !== old) changed = true
    byName.set(name, server)
    if (breath.due) await breath.take()
  }
  if (!changed && byName.size === before.byName.size) return { holding: before, changed: false, refused }
  return { holding: await holdingOf(byName, breath), changed: true, refused }
}

async function admitted(found: Found, before: Before, maxDocumentBytes: number, breath: Breath) {
  const names = new Map<string, string>()
  const intake = new Intake({
    maxDocumentBytes,
    arena: new Arena(),
    asOf: found.asOf ?? new Date(),
    nameOf: (name) => {
      const known = before.holding.byName.get(name)?.name ?? names.get(name) ?? name
      names.set(known, known)
      return known
    },
    before: (name, version) => before.find(name, version),
    made: (mark) => before.made(mark),
  })
  const versions = new Map<string, Map<string, HeldVersion>>()
  const refused: RefusedDocument[] = []
  let index = 0
  for await (const payload of found.payloads) {
    const scan = new JsonScan(payload)
    for (const span of documentsIn(scan)) {
      const answer = intake.admit(scan, span, index++)
      if ('refused' in answer) refused.push(answer.refused)
      else if (!put(versions, answer.held, found.kind === 'changes')) {
        const { name, version } = answer.held
        refused.push({ name: `${name}@${version}`, reason: 'given twice by this source; the first is kept' })
      }
      if (breath.due) await breath.take()
    }
  }
  return { versions, refused }
}

// A page that moves under a reader shows a version twice, so among changes the later word holds.
function put(
  versions: Map<string, Map<string, HeldVersion>>,
  held: HeldVersion,
  mayRepeat: boolean,
): boolean {
  const ofServer = versions.get(held.name)
  if (ofServer === undefined) versions.set(held.name, new Map([[held.version, held]]))
  else if (ofServer.has(held.version) && !mayRepeat) return false
  else ofServer.set(held.version, held)
  return true
}

/** Finds versions of a server, also when a source gives one server very many. */
class Before {
  readonly #indexes = new Map<HeldServer, ReadonlyMap<string, HeldVersion>>()
  readonly #marks = new Map<string, HeldVersion>()

  constructor(readonly holding: Holding) {}

  /** Learns what every version was made of, so that what is the same again need not be read again. */
  async learn(breath: Breath): Promise<void> {
    for (const { versions } of this.holding.servers) {
      for (const held of versions) this.#marks.set(held.mark, held)
      if (breath.due) await breath.take()
    }
  }

  made(mark: string): HeldVersion | undefined {
    return this.#marks.get(mark)
  }

  find(name: string, version: string): HeldVersion | undefined {
    const server = this.holding.byName.get(name)
    if (server === undefined || server.versions.length < 32) {
      return server?.versions.find((held) => held.version === version)
    }
    const index = this.#indexes.get(server) ?? new Map(server.versions.map((held) => [held.version, held]))
    this.#indexes.set(server, index)
    return index.get(version)
  }
}

/** The server as it is now: `old` itself when nothing about it is different. */
function serverOf(
  name: string,
  given: ReadonlyMap<string, HeldVersion>,
  kept: HeldServer | undefined,
  before: Before,
  arena: Arena,
): HeldServer {
  const old = before.holding.byName.get(name)
  const all = new Map(kept?.versions.map((held) => [held.version, held]))
  let changed = false
  for (const [version, held] of given) {
    const known = before.find(name, version)
    if (known !== undefined && (known === held || known.isSame(held))) all.set(version, known)
    else {
      all.set(version, held)
      changed = true
    }
  }
  if (!changed && old !== undefined && all.size === old.versions.length) return old
  return ordered(name, [...all.values()], arena)
}

function ordered(name: string, versions: readonly HeldVersion[], arena: Arena): HeldServer {
  const sorted = versions
    .map((held) => ({ held, key: orderKey(held) }))
    .sort((a, b) => newestFirst(a.key, b.key))
    .map(({ held }) => held)
  const latest = sorted.find(({ status }) => status !== 'deleted') ?? sorted[0]
  return {
    name,
    searchable: name.toLowerCase(),
    versions: sorted.map((held) => held.withLatest(held === latest, arena)),
    updatedAt: sorted.reduce((youngest, held) => Math.max(youngest, held.updatedAt), 0),
  }
}

/** A list of servers that nobody has put in order yet. */
export async function holdingOf(byName: ReadonlyMap<string, HeldServer>, breath: Breath): Promise<Holding> {
  const servers = await sortedInSlices([...byName.values()], (a, b) => byText(a.name, b.name), breath)
  let size = 0
  for (const { versions } of servers) size += versions.length
  return { servers, byName, size }
}
