import { addressText } from '../options/address.js'
import type { Given, GivenOptions, Invocation } from '../options/option.js'
import { secretOf } from '../options/secret.js'

/** A flag's name as a setting's: `target-uri` is `targetUri`. */
export const settingOf = (flag: string): string =>
  flag.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** What was given for a command, as the settings of its preset; what was not given is the preset's to say. */
export function settingsOf({ given }: Invocation): Readonly<Record<string, unknown>> {
  const settings: Record<string, unknown> = {}
  for (const [flag, option] of given) {
    if (option.source !== 'default' && !loses(flag, given)) settings[settingOf(flag)] = plain(option)
  }
  return settings
}

/** Of a secret and its file one counts, and which does depends on where each was given. */
function loses(flag: string, given: GivenOptions): boolean {
  const name = flag.replace(/-file$/, '')
  if (!given.has(name) || !given.has(`${name}-file`)) return false
  const chosen = secretOf(name, given)
  return chosen !== undefined && 'file' in chosen !== flag.endsWith('-file')
}

function plain({ value }: Given): unknown {
  if (Array.isArray(value))
    return value.map((item) => (typeof item === 'string' ? item : [item.name, item.value]))
  return typeof value === 'object' && 'port' in value ? addressText(value) : value
}
