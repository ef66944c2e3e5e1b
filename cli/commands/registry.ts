import { readDocument } from '../config/document.js'
import type { RegistrySettings } from '../config/registry-file.js'
import type { Outcome } from '../config/settings.js'
import { registrySettings } from '../config/settings.js'
import type { Invocation } from '../options/option.js'
import { registryGroups } from '../options/registry.js'
import { valuesOf } from '../options/values.js'
import { tell } from '../terminal.js'

/** Serves a registry. */
export async function registry(invocation: Invocation): Promise<number | undefined> {
  const outcome = await readRegistrySettings(invocation)
  if ('problems' in outcome) return tell(outcome.problems)
  return undefined
}

/** What `sallyport registry` was told, by flags, environment and file. Read again for each SIGHUP. */
export async function readRegistrySettings({ given }: Invocation): Promise<Outcome<RegistrySettings>> {
  const { config } = valuesOf(registryGroups, given)
  if (config === undefined) return registrySettings(given, undefined)
  const { document, problems } = await readDocument(config, process.env)
  return document === undefined ? { problems } : registrySettings(given, document, problems)
}
