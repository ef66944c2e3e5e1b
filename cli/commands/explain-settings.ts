import type { List } from 'sallyport'
import { RegistrySettings, registry } from 'sallyport/presets/registry'
import type { Problem } from 'sallyport/problem'
import { complaintsOf } from '../config/complaint.js'
import type { Document } from '../config/document.js'
import { isMapping } from '../config/path.js'
import { runSettings } from '../config/run-file.js'
import type { Outcome } from '../config/settings.js'

/** The list that a file stands for: its own, or the registry's. */
export function gateSettings(document: Document, earlier: readonly Problem[]): Outcome<List> {
  const { value } = document
  const isList =
    Array.isArray(value) || (isMapping(value) && Object.keys(value).every((key) => key === 'plugins'))
  if (!isList) return registryList(document, earlier)
  const outcome = runSettings(document, earlier)
  return 'problems' in outcome
    ? { problems: outcome.problems }
    : { ...outcome, settings: outcome.settings.plugins }
}

function registryList(
  { value, folder, secrets, locate }: Document,
  earlier: readonly Problem[],
): Outcome<List> {
  const read = RegistrySettings.safeParse(value)
  const complaints = read.success ? [] : complaintsOf(RegistrySettings, value, read.error)
  const problems = complaints.map(({ path, part, ...complaint }) => ({
    place: locate(path, part),
    ...complaint,
  }))
  if (!read.success || earlier.length > 0) return { problems: [...earlier, ...problems] }
  return { settings: registry(read.data), folder, secrets, locate }
}
