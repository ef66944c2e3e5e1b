import type { Plugin } from 'sallyport'
import { isJsonObject, messageOf } from 'sallyport/toolkit'
import type { FindingList } from '../findings/finding-list.js'

const FORM = 'return a list of { place, message }, or an empty one; `place` is a path in the options'

/** What the plugin says of options that it accepts. A start logs it, where secrets are looked for. */
export function examineWarnings(chart: FindingList, plugin: Plugin, options: unknown): void {
  if (plugin.warnings === undefined) return
  let warnings: unknown
  try {
    // It gets what its own schema returned, which is what it is typed for.
    warnings = plugin.warnings(options as never)
  } catch (error) {
    const detail = `it fails in warnings: ${messageOf(error)}`
    chart.wrong('warnings', 'WARNINGS_FAILED', detail, FORM)
    return
  }
  if (!Array.isArray(warnings) || !warnings.every(isProblem)) {
    chart.wrong('warnings', 'WARNINGS_MALFORMED', 'what warnings returns is no list of problems', FORM)
  } else chart.ok('warnings', 'it answers for options that it accepts')
}

const isProblem = (value: unknown): boolean =>
  isJsonObject(value) && typeof value['place'] === 'string' && typeof value['message'] === 'string'
