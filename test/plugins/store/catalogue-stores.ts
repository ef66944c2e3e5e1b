import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { CatalogueStore, type SourceStore, type StoredContents, type VersionKey } from 'sallyport'
import { booted } from '#kit/booted.js'
import { plugin } from '#kit/plugin.js'

/** What the catalogue store of a list with this entry provides; each call is another process to the others. */
export async function storeOf(
  t: TestContext,
  use: string,
  options: object,
): Promise<(name: string, place?: string) => SourceStore> {
  let stores: () => readonly CatalogueStore[] = () => []
  const user = plugin('user', (gateway) => {
    stores = gateway.use(CatalogueStore)
  })
  await booted(t, [{ use, with: options }, user])
  return (name, place = 'https://registry.example.com') => {
    const [store] = stores()
    if (store === undefined) throw new Error('there is no store')
    return store.open({ name, location: place })
  }
}

export const forever: AbortSignal = new AbortController().signal

/** Documents by their JSON. */
export const change = (
  changed: Documents,
  {
    removed = [],
    all = changed,
    bookmark,
  }: { removed?: readonly VersionKey[]; all?: Documents; bookmark?: string } = {},
) => ({ changed: documents(changed), removed, all: documents(all), bookmark })

/** By name and version, which are joined with `@`. */
export type Documents = Readonly<Record<string, string>>

export const keyOf = (id: string): VersionKey => {
  const at = id.lastIndexOf('@')
  return { name: id.slice(0, at), version: id.slice(at + 1) }
}

export const documents = (given: Documents) =>
  Object.entries(given).map(([id, json]) => ({ ...keyOf(id), document: Buffer.from(json) }))

/** Becomes the leader of a source. Returns what steps down. */
export function leading({
  shared,
}: SourceStore): Promise<{ signal: AbortSignal; stop: () => Promise<void> }> {
  return new Promise((resolve, reject) => {
    if (shared === undefined) return reject(new Error('it is not shared'))
    const stop = shared.lead((signal) => setImmediate(() => resolve({ signal, stop })))
  })
}

/** What a read returned, with all payloads as one text. */
export async function read(store: SourceStore, since?: number) {
  const contents: StoredContents | undefined = await store.read(since, forever)
  if (contents === undefined) return undefined
  const { kind, revision, bookmark, failure, removed, payloads } = contents
  const texts: string[] = []
  for await (const payload of payloads) texts.push(Buffer.from(payload).toString())
  return { kind, revision, bookmark, failure, removed, text: texts.join() }
}

/** Every document that the SQLite file of a directory holds; none before there is one. */
export function documentsIn(directory: string): readonly string[] {
  try {
    const database = new DatabaseSync(join(directory, 'catalogue.sqlite'), { readOnly: true })
    const rows = database.prepare('select document from document').all()
    database.close()
    return rows.map(({ document }) => Buffer.from(document as Uint8Array).toString())
  } catch {
    return []
  }
}
