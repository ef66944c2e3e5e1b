import type { Problem } from 'sallyport/problem'
import { addressText } from '../options/address.js'
import type { Given, GivenOptions } from '../options/option.js'
import type { Complaint } from './complaint.js'
import { complaintsOf, valueAt } from './complaint.js'
import type { Document } from './document.js'
import type { Path } from './path.js'
import { isMapping, pathText } from './path.js'
import type { RegistrySettings } from './registry-file.js'
import { registryFile } from './registry-file.js'
import { registryComplaints } from './registry-rules.js'

/** Settings, with what the kernel needs to speak of the places where they were written. */
export interface Located<Settings> {
  readonly settings: Settings
  /** Where relative paths in the settings start. */
  readonly folder: string
  /** Never printed. */
  readonly secrets: ReadonlySet<string>
  readonly locate: (path: Path) => string
}

export type Outcome<Settings> =
  | Located<Settings>
  | {
      readonly problems: readonly Problem[]
      /** What could be read all the same: never booted, only looked through for further problems. */
      readonly readable?: Located<Settings>
    }

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
  const locate = (path: Path, part?: 'key' | 'value') =>
    places.get(pathText(path)) ?? document?.locate(path, part) ?? pathText(path)

  const read = registryFile.safeParse(value)
  const complaints = [
    ...(read.success ? [] : complaintsOf(registryFile, value, read.error)),
    ...registryComplaints(value),
  ]
  const problems = [...earlier, ...located(complaints, locate, earlier)]
  if (!read.success || problems.length > 0) return { problems }
  const { folder = process.cwd(), secrets = new Set<string>() } = document ?? {}
  return { settings: withAllPublicPaths(read.data), folder, secrets, locate }
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

// A reference that led nowhere has left a wrong value behind; its own problem stands first and alone.
function located(
  complaints: readonly Complaint[],
  locate: (path: Path, part?: 'key' | 'value') => string,
  earlier: readonly Problem[],
): readonly Problem[] {
  const told = new Set(earlier.map(({ place }) => place))
  return complaints
    .map(({ path, part, ...complaint }) => ({
      place: locate(path, part),
      ...complaint,
    }))
    .filter(({ place }) => !told.has(place))
}

function withAllPublicPaths(settings: RegistrySettings): RegistrySettings {
  const { auth } = settings
  const { oauth } = auth
  if (oauth === undefined) return settings
  const publicPaths = [...new Set([...auth.publicPaths, ...oauth.publicPaths])]
  return { ...settings, auth: { ...auth, oauth: { ...oauth, publicPaths } } }
}
