import type { List } from 'sallyport'
import { RegistrySettings, registry } from 'sallyport/presets/registry'
import type { Problem } from 'sallyport/problem'
import type { Document } from '../config/document.js'
import type { Outcome } from '../config/outcome.js'
import { isMapping } from '../config/path.js'
import { runSettings } from '../config/run-file.js'
import { settle } from '../config/settle.js'

/** The list that a file stands for: its own, or the registry's. */
export function gateSettings(document: Document, earlier: readonly Problem[]): Outcome<List> {
  const { value } = document
  const isList =
    Array.isArray(value) || (isMapping(value) && Object.keys(value).every((key) => key === 'plugins'))
  if (!isList) return listed(settle(RegistrySettings, document, earlier), registry)
  return listed(runSettings(document, earlier), ({ plugins }) => plugins)
}

function listed<Settings>(outcome: Outcome<Settings>, list: (settings: Settings) => List): Outcome<List> {
  if ('problems' in outcome) return { problems: outcome.problems }
  return { ...outcome, settings: list(outcome.settings) }
}
