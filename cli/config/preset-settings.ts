import { resolve } from 'node:path'
import type { Problem, SettingPath } from 'sallyport'
import { isJsonObject } from 'sallyport/toolkit'
import type { z } from 'zod'
import { valueAt } from '#core/kernel/validate-options.js'
import { formatHostPort } from '#core/toolkit/host-port.js'
import { pathText } from '#core/toolkit/path-text.js'
import { flagOf, keyOf, type SettingGroup } from '#plugins/presets/settings/setting.js'
import { type Environment, environmentNames } from '../line/environment.js'
import type { Invocation, Option, OptionValue, ResolvedOption } from '../line/option.js'
import { expectation, readValue } from '../line/read.js'
import type { Document, Read } from './document.js'
import { hidden } from './hidden.js'
import { fromWorkingFolder, placeOfFlag, usesOf } from './plugin-flag.js'
import { resolveSettings } from './resolve-settings.js'
import type { Result } from './result.js'
import { readItems } from './run-file.js'

/** The table and the schema of a preset's settings. */
export interface PresetReader<Settings> {
  readonly table: readonly SettingGroup[]
  readonly schema: z.ZodType<Settings>
}

/** The settings of a preset: a flag wins over a variable, a variable over the file, the file over the default. */
export async function readPreset<Settings>(
  preset: PresetReader<Settings>,
  invocation: Invocation,
): Promise<Result<Settings>> {
  const config = invocation.options.get('config')?.value
  const read: Read =
    typeof config === 'string' ? await readConfig(config, invocation.environment) : { problems: [] }
  const earlier = [...invocation.problems, ...read.problems]
  if (read.document === undefined && read.problems.length > 0) return { problems: earlier }
  return new PresetSettings(preset, invocation, read.document).read(earlier)
}

/** The YAML parser is loaded only when there is a file. */
async function readConfig(file: string, environment: Environment): Promise<Read> {
  const { readDocument } = await import('./document.js')
  return readDocument(file, environment)
}

/** The settings in a file of a preset, without flags. */
export const presetOfFile = <Settings>(
  preset: PresetReader<Settings>,
  document: Document,
  earlier: readonly Problem[],
): Result<Settings> => new PresetSettings(preset, undefined, document).read(earlier)

/** The precedence of the sources: the lowest number wins. */
const PRECEDENCE = { flag: 0, environment: 1, file: 2, none: 3 } as const

type SettingSource = keyof typeof PRECEDENCE

class PresetSettings<Settings> {
  private value: unknown
  /** The flags and variables in effect, by the path that they set. */
  private readonly places = new Map<string, string>()
  private readonly problems: Problem[] = []
  private readonly secrets: Set<string>
  private readonly options: readonly Option[]

  constructor(
    private readonly preset: PresetReader<Settings>,
    private readonly invocation: Invocation | undefined,
    private readonly document: Document | undefined,
  ) {
    this.value = document?.value ?? {}
    this.secrets = new Set(document?.secrets)
    this.options = preset.table.flatMap(({ options }) => options)
  }

  read(earlier: readonly Problem[]): Result<Settings> {
    for (const option of this.options) this.apply(option)
    this.applyName()
    this.applyPlugins()
    for (const secret of this.secrets) hidden.add(secret)
    const { value, secrets } = this
    const folder = this.document?.folder ?? resolve('.')
    const locate = (path: SettingPath, part?: 'key' | 'value') => this.locate(path, part)
    // An unresolved reference leaves a wrong value; its place is reported once.
    const reported = new Set(earlier.map(({ place }) => place))
    const result = resolveSettings(this.preset.schema, { value, folder, secrets, locate }, [
      ...earlier,
      ...this.problems.filter(({ place }) => !reported.has(place)),
    ])
    const plugins = valueAt(value, ['plugins'])
    if (!('problems' in result) || !Array.isArray(plugins)) return result
    return { ...result, entries: { settings: readItems(plugins, ['plugins'], []), folder, secrets, locate } }
  }

  private apply(option: Option): void {
    const path = pathOf(option)
    const written = this.written(option)
    // A value that was refused on the command line or in a variable is not reported as missing too.
    const refused = this.invocation?.problems.find(({ place }) => placesOf(option).includes(place))
    if (refused !== undefined) this.set(path, undefined, refused.place)
    if (written === 'none') return
    if (this.isOverridden(option, written)) this.set(path, undefined)
    else if (written === 'file') this.applyFromFile(option, path)
    else {
      const { value, place } = this.given(option) ?? { value: '', place: '' }
      this.set(path, this.settingOf(option, value, true), place)
    }
  }

  /** The reader of the flag's text also reads the value of the file. */
  private applyFromFile(option: Option, path: SettingPath): void {
    // The schema of a section reads the values inside it.
    if (path.length > 1) return
    const value = readValue(option, valueAt(this.value, path))
    this.set(path, value === undefined ? undefined : this.settingOf(option, value, false))
    if (value !== undefined) return
    const place = this.document?.locate(path) ?? pathText(path)
    this.problems.push({ place, message: `${expectation(option)} is expected` })
  }

  private given({ name }: Option): ResolvedOption | undefined {
    const option = this.invocation?.options.get(name)
    return option?.source === 'default' ? undefined : option
  }

  private written(option: Option): SettingSource {
    const source = this.given(option)?.source
    if (source === 'flag' || source === 'environment') return source
    return valueAt(this.document?.value, pathOf(option)) === undefined ? 'none' : 'file'
  }

  /** A secret and its file exclude each other: the source with precedence wins, and in one source the value wins. */
  private isOverridden({ name }: Option, own: SettingSource): boolean {
    const isFile = name.endsWith('-file')
    const counterpart = this.options.find(
      (each) => each.name === (isFile ? name.replace(/-file$/, '') : `${name}-file`),
    )
    if (counterpart === undefined) return false
    const other = PRECEDENCE[this.written(counterpart)]
    return isFile ? other <= PRECEDENCE[own] : other < PRECEDENCE[own]
  }

  private settingOf(option: Option, value: OptionValue, isOfCommandLine: boolean): unknown {
    if (option.secret === true) for (const text of textsOf(value)) this.secrets.add(text)
    if (Array.isArray(value))
      return value.map((item) => (typeof item === 'string' ? item : [item.name, item.value]))
    // Otherwise the path would be relative to the folder of the file.
    if (isOfCommandLine && this.document !== undefined && typeof value === 'string')
      return fromWorkingFolder(option, value)
    return typeof value === 'object' && 'port' in value ? formatHostPort(value) : value
  }

  private applyName(): void {
    const { command, positionals: [name] = [] } = this.invocation ?? {}
    // The parser reports a name that the command does not take.
    if (name !== undefined && command?.positionals.length !== 0) this.set(['name'], name, 'SERVER_NAME')
  }

  private applyPlugins(): void {
    const option = this.invocation?.options.get('plugin')
    const uses = usesOf(option)
    const written = valueAt(this.value, ['plugins']) ?? []
    // The schema reports a value that is no list.
    if (uses.length === 0 || !Array.isArray(written)) return
    this.set(['plugins'], [...written, ...uses.map((use) => ({ use }))])
    for (const index of uses.keys())
      this.places.set(pathText(['plugins', written.length + index]), option?.place ?? '')
  }

  private set(path: SettingPath, value: unknown, place?: string): void {
    this.value = withValue(this.value, path, value)
    if (place !== undefined) this.places.set(pathText(path), place)
  }

  private locate(path: SettingPath, part?: 'key' | 'value'): string {
    for (let length = path.length; length > 0; length--) {
      const place = this.places.get(pathText(path.slice(0, length)))
      if (place !== undefined) return placeOfFlag(place, path.slice(length))
    }
    if (this.document !== undefined) return this.document.locate(path, part)
    const [key = ''] = path.map(String)
    if (key === 'name') return 'SERVER_NAME'
    const option =
      this.options.find((each) => pathText(pathOf(each)) === pathText(path)) ??
      this.options.find(({ name }) => name === key || keyOf(name) === key)
    return option === undefined ? pathText(path) : flagOf(option.name)
  }
}

const placesOf = (option: Option): readonly string[] => [flagOf(option.name), ...environmentNames(option)]

const pathOf = ({ name, path }: Option): SettingPath => path ?? [keyOf(name)]

function textsOf(value: OptionValue): string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.map((item) => (typeof item === 'string' ? item : item.value)) : []
}

// A wrong value on the way, such as `auth: yes`, stays: the schema reports it.
function withValue(value: unknown, [key, ...rest]: SettingPath, leaf: unknown): unknown {
  if (key === undefined) return leaf
  if (value !== undefined && !isJsonObject(value)) return value
  const { [key]: old, ...others } = value ?? {}
  const inner = withValue(old, rest, leaf)
  return inner === undefined ? others : { ...others, [key]: inner }
}
