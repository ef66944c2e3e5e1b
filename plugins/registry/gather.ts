import { Before } from './before.js'
import type { Breath } from './breath.js'
import { type Columns, columnsOf, type OrderedServer, type Version } from './columns.js'
import { documentsIn, Intake } from './intake.js'
import { JsonScan } from './json-scan.js'
import { eachPayload, type Payloads } from './payloads.js'
import { type Refusals, type RefusedDocument, refusalsOf, refusedIn, stillRefused } from './refusals.js'
import { Texts } from './texts.js'
import { byText, newestFirst, orderKey } from './version-order.js'

/** What is to be made of what a source gave. It is plain data, since another thread may do it. */
export interface Job {
  readonly kind: 'whole' | 'changes'
  readonly payloads: Payloads
  /** The date of documents that bring none, in milliseconds since the epoch. */
  readonly asOf: number
  readonly maxDocumentBytes: number
  readonly before: Columns
  /** How many chunks hold the texts of what was before. New ones are counted on from there. */
  readonly chunks: number
  /** What was refused before, as JSON. */
  readonly refused: Uint8Array
}

export interface Gathered {
  /** Nothing when it is all as it was. */
  readonly columns: Columns | undefined
  /** The texts that are new. */
  readonly chunks: readonly Uint8Array[]
  readonly refusals: Refusals
}

type Servers = Map<string, Map<string, Version>>

/** Reads everything a source gave and lays it beside what was held before, which stays untouched. */
export async function gather(job: Job, breath: Breath): Promise<Gathered> {
  const before = new Before(job.before)
  const texts = new Texts(job.payloads.chunks, job.chunks)
  const { given, refused } = await admitted(job, before, texts, breath)
  if (given.size === 0 && refused.length > 0 && job.kind === 'whole') {
    const [first] = refused
    throw new Error(`none of its ${refused.length} documents can be taken; ${first?.name}: ${first?.reason}`)
  }
  const isHeld = (name: string, version: string): boolean =>
    given.get(name)?.has(version) === true || before.find(name, version) !== undefined
  const earlier = refusedIn(job.refused)
  const lasting = job.kind === 'changes' ? stillRefused(earlier, refused, isHeld) : []
  const refusals = refusalsOf([...lasting, ...refused], earlier)
  if (isUnchanged(job, before, given)) return { columns: undefined, chunks: [], refusals }

  const servers = job.kind === 'changes' ? laidOver(before, given) : given
  return { columns: columnsOf(ordered(servers)), chunks: texts.chunks(), refusals }
}

async function admitted(job: Job, before: Before, texts: Texts, breath: Breath) {
  const intake = new Intake({
    maxDocumentBytes: job.maxDocumentBytes,
    texts,
    asOf: job.asOf,
    before: (name, version) => before.find(name, version),
    made: (mark) => before.made(mark),
  })
  const given: Servers = new Map()
  const refused: RefusedDocument[] = []
  let index = 0
  for (const payload of eachPayload(job.payloads)) {
    const scan = new JsonScan(payload.bytes)
    for (const span of documentsIn(scan)) {
      const answer = intake.admit(scan, span, { payload, index: index++ })
      if ('refused' in answer) refused.push(answer.refused)
      else if (!put(given, answer.name, answer.held, job.kind === 'changes')) {
        const name = `${answer.name}@${answer.held.version}`
        refused.push({ name, reason: 'given twice by this source; the first is kept' })
      }
      if (breath.due) await breath.take()
    }
  }
  return { given, refused }
}

// A page that moves under a reader shows a version twice, so among changes the later word holds.
function put(servers: Servers, name: string, held: Version, mayRepeat: boolean): boolean {
  const versions = servers.get(name)
  if (versions === undefined) servers.set(name, new Map([[held.version, held]]))
  else if (versions.has(held.version) && !mayRepeat) return false
  else versions.set(held.version, held)
  return true
}

function isUnchanged({ kind, chunks }: Job, before: Before, given: Servers): boolean {
  let count = 0
  for (const versions of given.values()) {
    count += versions.size
    for (const { places } of versions.values()) if ((places[0] ?? 0) >= chunks) return false
  }
  return kind === 'changes' || count === before.rows.size
}

function laidOver(before: Before, given: Servers): Servers {
  const { names } = before.rows
  const all: Servers = new Map()
  for (let server = 0; server < names.length; server++) {
    all.set(names.at(server), new Map(before.versionsOf(server).map((held) => [held.version, held])))
  }
  for (const [name, versions] of given) {
    for (const held of versions.values()) put(all, name, held, true)
  }
  return all
}

function ordered(servers: Servers): OrderedServer[] {
  return [...servers]
    .sort(([a], [b]) => byText(a, b))
    .map(([name, held]) => {
      const versions = [...held.values()]
        .map((version) => ({ version, key: orderKey(version) }))
        .sort((a, b) => newestFirst(a.key, b.key))
        .map(({ version }) => version)
      const latest = versions.find(({ status }) => status !== 'deleted') ?? versions[0]
      return { name, versions, latest }
    })
}
