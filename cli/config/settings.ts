import { RegistrySettings } from 'sallyport/presets/registry'
import type { Problem } from 'sallyport/problem'
import { addressText } from '../options/address.js'
import type { Given, GivenOptions } from '../options/option.js'
import { valueAt } from './complaint.js'
import type { Document } from './document.js'
import type { Outcome } from './outcome.js'
import type { Path } from './path.js'
import { isMapping, pathText } from './path.js'
import { settle } from './settle.js'

const overlays = [
  { flag: 'address', path: ['address'] },
  { flag: 'internal-address', path: ['internalAddress'] },
  { flag: 'auth-mode', path: ['auth', 'mode'] },
] as const

/** The registry's settings: a flag wins over the environment, that over the file, and that over the default. */
export function registrySettings(
  given: GivenOptions,
  document: Document | undefined,
  earlier: readonly Problem[] = [],
): Outcome<RegistrySettings> {
  const { value, places } = overlaid(document?.value ?? {}, given)
  const { folder = process.cwd(), secrets = new Set<string>() } = document ?? {}
  const locate = (path: Path, part?: 'key' | 'value') =>
    places.get(pathText(path)) ?? document?.locate(path, part) ?? pathText(path)
  return settle(RegistrySettings, { value, folder, secrets, locate }, earlier)
}

interface Overlaid {
  readonly value: unknown
  /** The flags and variables that won, by the path that they set. */
  readonly places: ReadonlyMap<string, string>
}

function overlaid(fromFile: unknown, given: GivenOptions): Overlaid {
  const places = new Map<string, string>()
  let value = fromFile
  for (const { flag, path } of overlays) {
    const option = given.get(flag)
    if (option === undefined) continue
    if (option.source === 'default' && valueAt(value, path) !== undefined) continue
    value = withValue(value, path, textOf(option))
    places.set(pathText(path), option.place)
  }
  return { value, places }
}

function textOf({ value }: Given): unknown {
  return typeof value === 'object' && 'port' in value ? addressText(value) : value
}

// A wrong value on the way, such as `auth: yes`, stays: the schema tells it.
function withValue(value: unknown, [key, ...rest]: readonly string[], leaf: unknown): unknown {
  if (key === undefined) return leaf
  if (value !== undefined && !isMapping(value)) return value
  return { ...value, [key]: withValue(value?.[key], rest, leaf) }
}
