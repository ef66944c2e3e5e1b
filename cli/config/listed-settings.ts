import type { List } from 'sallyport'
import { RegistrySettings, registry } from 'sallyport/presets/registry'
import type { Problem } from 'sallyport/problem'
import type { Document } from './document.js'
import { readDocument } from './document.js'
import type { Located, Outcome } from './outcome.js'
import { isMapping } from './path.js'
import { runSettings } from './run-file.js'
import { settle } from './settle.js'

/** Reads a file of either kind, and the list that it stands for. */
export async function readList(file: string): Promise<Outcome<List>> {
  const { document, problems } = await readDocument(file, process.env, 'mapping or list')
  return document === undefined ? { problems } : listSettings(document, problems)
}

/** Whether a file is the canonical list of `sallyport run`; it is the registry's otherwise. */
const isListFile = (value: unknown): boolean =>
  Array.isArray(value) || (isMapping(value) && Object.keys(value).every((key) => key === 'plugins'))

/** The list that a file stands for: its own, or the registry's. */
function listSettings(document: Document, earlier: readonly Problem[]): Outcome<List> {
  if (!isListFile(document.value)) return listed(settle(RegistrySettings, document, earlier), registry)
  return listed(runSettings(document, earlier), ({ plugins }) => plugins)
}

function listed<Settings>(outcome: Outcome<Settings>, list: (settings: Settings) => List): Outcome<List> {
  const asList = (located: Located<Settings>): Located<List> => ({
    ...located,
    settings: list(located.settings),
  })
  if (!('problems' in outcome)) return asList(outcome)
  const { problems, readable } = outcome
  return { problems, ...(readable !== undefined && { readable: asList(readable) }) }
}
