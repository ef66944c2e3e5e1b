import { readDocument } from '../config/document.js'
import type { Outcome } from '../config/outcome.js'
import type { RunSettings } from '../config/run-file.js'
import { runSettings } from '../config/run-file.js'
import { type Preset, runGateway } from '../gateway.js'
import type { Invocation } from '../options/option.js'
import { runGroups } from '../options/run.js'
import { valuesOf } from '../options/values.js'
import { internalPart } from './ready-line.js'

/** Boots the list of plugins that a file holds. */
export const run = (invocation: Invocation): Promise<number> => runGateway(preset, invocation)

const preset: Preset<RunSettings> = {
  read: readRunSettings,
  list: ({ plugins }) => plugins,
  readyLine: ({ plugins }, addresses) => {
    // Somebody reads nothing but JSON-RPC there.
    if (plugins.some((entry) => 'use' in entry && entry.use === 'listen/stdio')) return undefined
    const { main, public: outside } = addresses
    const internal = internalPart(addresses)
    if (main === undefined) return `sallyport run is up; no plugin of the list opens the main port${internal}`
    const reach = outside === undefined ? '' : `, reachable at ${outside}`
    return `sallyport run listening on ${main}${reach}${internal}`
  },
}

/** What `sallyport run` was told, by its file. */
export async function readRunSettings({ given }: Invocation): Promise<Outcome<RunSettings>> {
  const { config } = valuesOf(runGroups, given)
  const { document, problems } = await readDocument(config, process.env, 'mapping or list')
  return document === undefined ? { problems } : runSettings(document, problems)
}
