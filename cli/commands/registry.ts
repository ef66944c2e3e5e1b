import { type RegistrySettings, registry as registryList } from 'sallyport/presets/registry'
import { readDocument } from '../config/document.js'
import type { Outcome } from '../config/outcome.js'
import { registrySettings } from '../config/settings.js'
import { type Preset, runGateway } from '../gateway.js'
import type { Invocation } from '../options/option.js'
import { registryGroups } from '../options/registry.js'
import { valuesOf } from '../options/values.js'
import { internalPart } from './ready-line.js'

/** Serves a registry. */
export const registry = (invocation: Invocation): Promise<number> => runGateway(preset, invocation)

const preset: Preset<RegistrySettings> = {
  read: readRegistrySettings,
  list: registryList,
  readyLine: (_settings, addresses) =>
    `sallyport registry listening on ${addresses.main}${internalPart(addresses)}`,
}

/** What `sallyport registry` was told, by flags, environment and file. */
export async function readRegistrySettings({ given }: Invocation): Promise<Outcome<RegistrySettings>> {
  const { config } = valuesOf(registryGroups, given)
  if (config === undefined) return registrySettings(given, undefined)
  const { document, problems } = await readDocument(config, process.env)
  return document === undefined ? { problems } : registrySettings(given, document, problems)
}
