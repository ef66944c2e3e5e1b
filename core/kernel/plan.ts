import type { Capability } from '../contract/capability.js'
import { type Entry, isScope, type List, type Scope, type SettingPath } from '../contract/list.js'
import type { Plugin } from '../contract/plugin.js'
import type { Problem } from '../contract/problem.js'
import { isJsonObject } from '../toolkit/json-object.js'
import { pathOfText } from '../toolkit/path-text.js'
import { secretsIn } from '../toolkit/redact.js'
import { type Loaded, type Loader, withShortName } from './load.js'
import { onlyObserves } from './observers.js'
import { jsonSchemaOf, validateOptions } from './validate-options.js'

/** Returns where a path of the settings was written, for messages: a flag, or file, line and path. */
export type Locate = (path: SettingPath) => string

/** An entry whose plugin was loaded, with its validated options. */
export interface PlannedEntry {
  readonly id: string
  readonly plugin: Plugin
  readonly options: unknown
  /** The capabilities that `setup` has to provide with these options. */
  readonly provides: readonly Capability[]
  /** The values in its options that their schema marks as `writeOnly`. */
  readonly secrets: readonly string[]
  readonly required: boolean
  readonly isBuiltIn: boolean
  /** Where a person wrote an option, or with an empty name the entry; `undefined` if a program made it. */
  readonly placeOf?: (option: string) => string | undefined
}

export interface PlannedScope {
  readonly path: string
  readonly items: readonly (PlannedEntry | PlannedScope)[]
}

export const isPlannedScope = (item: PlannedEntry | PlannedScope): item is PlannedScope => 'items' in item

/** Every entry of a list and of its scopes. */
export const entriesOf = ({ items }: PlannedScope): readonly PlannedEntry[] =>
  items.flatMap((item) => (isPlannedScope(item) ? entriesOf(item) : [item]))

/** Plans a list. It collects every problem, so that all of them are reported at once. */
export class Planner {
  readonly problems: Problem[] = []
  /** False if a plugin could not be loaded: then missing capabilities are not reported, as it might provide them. */
  isComplete = true
  /** Where the plugin that is being loaded is named. */
  loadingAt: SettingPath = ['plugins']
  private readonly scopePaths = new Set<string>()

  constructor(
    private readonly loader: Loader,
    private readonly locate: Locate,
    /** Whether a person wrote the list, and not a program. */
    private readonly isWritten = true,
  ) {}

  async plan(list: List): Promise<PlannedScope> {
    return this.scope(list, '', ['plugins'])
  }

  private async scope(written: List, path: string, at: SettingPath): Promise<PlannedScope> {
    const list = this.validItems(written, at)
    // All imports run at once; problems are still in list order.
    const loading = list.map((item) => (isScope(item) ? undefined : this.loader.load(item.use)))
    const planned: (PlannedEntry | PlannedScope | undefined)[] = []
    for (const [index, item] of list.entries()) {
      const here = [...at, index]
      if (isScope(item)) planned.push(await this.inner(item, path, here))
      else {
        this.loadingAt = item.named ?? [...here, 'use']
        planned.push(await this.entry(item, await loading[index], here))
      }
    }
    this.refuseRepeats(list, planned, at)
    return { path, items: planned.filter((item) => item !== undefined) }
  }

  /** Reports items that are no entries, and returns the others: a program may pass anything. */
  private validItems(written: unknown, at: SettingPath): List {
    if (!Array.isArray(written)) {
      this.addProblem(at, 'expected a list of plugins')
      return []
    }
    return written.filter((item: unknown, index): item is Entry | Scope => {
      const fault = faultOf(item)
      if (fault === undefined) return true
      this.isComplete = false
      this.addProblem([...at, index], fault)
      return false
    })
  }

  private inner({ scope, plugins }: Scope, outer: string, at: SettingPath): Promise<PlannedScope> {
    const path = outer + scope
    if (!/^(\/[\w.~-]+)+$/.test(scope) || /\/\.{1,2}(\/|$)/.test(scope)) {
      this.addProblem(
        [...at, 'scope'],
        'expected a path such as "/github": one leading slash, none at the end',
      )
    } else if (this.scopePaths.has(path)) {
      this.addProblem([...at, 'scope'], `"${path}" is in the list already: a path belongs to one scope`)
    }
    this.scopePaths.add(path)
    return this.scope(plugins, path, [...at, 'plugins'])
  }

  private async entry(
    entry: Entry,
    loaded: Loaded | undefined,
    at: SettingPath,
  ): Promise<PlannedEntry | undefined> {
    if (loaded === undefined) return undefined
    if ('problem' in loaded) {
      this.isComplete = false
      this.problems.push({
        place: this.locate(entry.named ?? [...at, 'use']),
        ...withShortName(loaded.problem, entry),
      })
      return undefined
    }
    const { plugin } = loaded
    const { id = plugin.name, required = true } = entry
    if (!required && !onlyObserves(plugin)) {
      this.addProblem(
        entry.named ?? [...at, 'required'],
        `"${id}" must not have \`required: false\`: only plugins that observe may, such as audit, metrics and tracing`,
      )
    }
    const options = await this.options(entry, plugin, id, at)
    // Built-in plugins give their secrets to the scrubber themselves; for others the schema, slow to convert, names
    // them.
    const isBuiltIn = typeof entry.use === 'string' && this.loader.isBuiltIn(entry.use)
    return {
      id,
      plugin,
      required,
      options,
      provides: this.provides(plugin, options, entry, at),
      isBuiltIn,
      secrets: isBuiltIn ? [] : secretsIn(entry.with, jsonSchemaOf(plugin.options)),
      ...(this.isWritten && { placeOf: (option) => this.placeOf(option, entry, plugin, at) }),
    }
  }

  private async options(entry: Entry, plugin: Plugin, id: string, at: SettingPath): Promise<unknown> {
    const validated = await validateOptions(plugin.options, entry.with)
    if ('value' in validated) return validated.value
    for (const { path, message, suggestion } of validated.problems) {
      const place = `${this.locate(whereWritten(entry, path, at))} (${id})`
      this.problems.push({ place, message, ...(suggestion !== undefined && { suggestion }) })
    }
    return undefined
  }

  private provides(plugin: Plugin, options: unknown, entry: Entry, at: SettingPath): readonly Capability[] {
    const { provides = [] } = plugin
    // Invalid options are a problem already.
    if (plugin.omits === undefined || options === undefined) return provides
    try {
      // The options are the result of the plugin's own schema, so they have the type that `omits` expects.
      const omitted = new Set(plugin.omits(options as never).map(({ token }) => token))
      return provides.filter(({ token }) => !omitted.has(token))
    } catch {
      // The plugin's error may quote a value, so it is not shown.
      this.addProblem(entry.named ?? [...at, 'use'], `"${entry.id ?? plugin.name}" failed in \`omits\``)
      return provides
    }
  }

  private placeOf(option: string, entry: Entry, plugin: Plugin, at: SettingPath): string | undefined {
    const path = whereOption(entry, option, plugin, at)
    return path === undefined ? undefined : `${this.locate(path)} (${entry.id ?? plugin.name})`
  }

  private refuseRepeats(
    list: List,
    planned: readonly (PlannedEntry | PlannedScope | undefined)[],
    at: SettingPath,
  ): void {
    const seen = new Map<string, number>()
    for (const [index, item] of planned.entries()) {
      const original = list[index]
      if (item === undefined || original === undefined || isPlannedScope(item) || isScope(original)) continue
      const { id } = item
      const first = seen.get(id)
      if (first === undefined) {
        seen.set(id, index)
        continue
      }
      const { named } = list[first] as Entry
      // An entry that a preset adds by itself was written nowhere.
      const before = original.named === undefined ? [...at, first] : named
      const there = before === undefined ? '' : `, at ${this.locate(before)}`
      this.addProblem(
        original.named ?? [...at, index],
        `"${id}" is in the list already${there}: give this one an \`id\` of its own`,
      )
    }
  }

  private addProblem(at: SettingPath, message: string): void {
    this.problems.push({ place: this.locate(at), message })
  }
}

function faultOf(item: unknown): string | undefined {
  if (typeof item !== 'object' || item === null) return 'expected an entry with `use`, or a scope'
  const { use, id, required, scope, plugins }: Readonly<Record<string, unknown>> = { ...item }
  if (scope !== undefined) {
    return typeof scope === 'string' && Array.isArray(plugins)
      ? undefined
      : 'a scope needs a path and `plugins`'
  }
  if (typeof use !== 'string' && (typeof use !== 'object' || use === null))
    return 'expected `use` to name a plugin'
  if (id !== undefined && typeof id !== 'string') return 'expected `id` to be a string'
  return required === undefined || typeof required === 'boolean'
    ? undefined
    : 'expected `required` to be true or false'
}

function isOption(name: string, { options }: Plugin): boolean {
  const properties = jsonSchemaOf(options)?.['properties']
  return isJsonObject(properties) && Object.hasOwn(properties, name)
}

/**
 * Where the option that a plugin names in an error was written. The name may be a path in its options, or anything
 * else.
 */
function whereOption(entry: Entry, option: string, plugin: Plugin, at: SettingPath): SettingPath | undefined {
  const path = pathOfText(option)
  if (isOption(String(path[0] ?? ''), plugin)) return whereWritten(entry, path, at)
  // For options that were written as they are, the plugin's own word is more exact than the line that names the plugin.
  return option === '' || entry.origin !== undefined ? entry.named : undefined
}

/** The path of the setting that an option of an entry was made from. */
function whereWritten({ origin }: Entry, path: SettingPath, at: SettingPath): SettingPath {
  const [option = '', ...rest] = path
  const named = origin !== undefined && Object.hasOwn(origin, option) ? origin[option] : undefined
  if (named !== undefined) return [...named, ...rest]
  const all = origin?.['']
  return all === undefined ? [...at, 'with', ...path] : [...all, ...path]
}
