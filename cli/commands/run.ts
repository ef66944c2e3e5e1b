import { readDocument } from '../config/document.js'
import type { RunSettings } from '../config/run-file.js'
import { runSettings } from '../config/run-file.js'
import type { Outcome } from '../config/settings.js'
import type { Invocation } from '../options/option.js'
import { runGroups } from '../options/run.js'
import { valuesOf } from '../options/values.js'
import { tell } from '../terminal.js'

/** Boots the list of plugins that a file holds. */
export async function run(invocation: Invocation): Promise<number | undefined> {
  const outcome = await readRunSettings(invocation)
  if ('problems' in outcome) return tell(outcome.problems)
  return undefined
}

/** What `sallyport run` was told, by its file. Read again for each SIGHUP. */
export async function readRunSettings({ given }: Invocation): Promise<Outcome<RunSettings>> {
  const { config } = valuesOf(runGroups, given)
  const { document, problems } = await readDocument(config, process.env, 'mapping or list')
  return document === undefined ? { problems } : runSettings(document, problems)
}
