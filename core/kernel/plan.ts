import { Health } from '../contract/capabilities/health.js'
import { type Capability, isSingle } from '../contract/capability.js'
import type { Entry, List, Scope, SettingPath } from '../contract/list.js'
import { isScope } from '../contract/list.js'
import type { Plugin } from '../contract/plugin.js'
import type { Problem } from '../contract/problem.js'
import { secretsIn } from '../toolkit/redact.js'
import { type Loaded, type Loader, withShortName } from './load.js'
import { dependentOn, onlyObserves } from './observers.js'
import { jsonSchemaOf, validateOptions } from './validate-options.js'
import { whereOption, whereWritten } from './where-written.js'

/** Where a path of the settings was written, for messages: a flag, or file, line and path. */
export type Locate = (path: SettingPath) => string

/** An entry that was loaded and whose options are valid. */
export interface PlannedEntry {
  readonly id: string
  readonly plugin: Plugin
  readonly options: unknown
  /** What is written in its options and marked `writeOnly` in their schema. */
  readonly secrets: readonly string[]
  readonly required: boolean
  /** Where a person wrote an option, or the entry; `undefined` when nobody did. */
  readonly placeOf?: (option: string) => string | undefined
}

export interface PlannedScope {
  readonly path: string
  readonly items: readonly (PlannedEntry | PlannedScope)[]
}

export const isPlannedScope = (item: PlannedEntry | PlannedScope): item is PlannedScope => 'items' in item

/** Every entry of a list, those of its scopes included. */
export const entriesOf = ({ items }: PlannedScope): readonly PlannedEntry[] =>
  items.flatMap((item) => (isPlannedScope(item) ? entriesOf(item) : [item]))

/** Plans a list. It collects every problem, so that all of them are reported at once. */
export class Planner {
  readonly problems: Problem[] = []
  /** Where the plugin is named that is being waited for. */
  waitingAt: SettingPath = ['plugins']
  private readonly scopePaths = new Set<string>()

  constructor(
    private readonly loader: Loader,
    private readonly locate: Locate,
    /** A person wrote the list, and not a program. */
    private readonly isWritten = true,
  ) {}

  async plan(list: List): Promise<PlannedScope> {
    return this.scope(list, '', ['plugins'])
  }

  private async scope(given: List, path: string, at: SettingPath): Promise<PlannedScope> {
    const list = this.readable(given, at)
    // All imports run at once; problems are still in list order.
    const loading = list.map((item) => (isScope(item) ? undefined : this.loader.load(item.use)))
    const planned: (PlannedEntry | PlannedScope | undefined)[] = []
    for (const [index, item] of list.entries()) {
      const here = [...at, index]
      if (isScope(item)) planned.push(await this.inner(item, path, here))
      else {
        this.waitingAt = item.named ?? [...here, 'use']
        planned.push(await this.entry(item, await loading[index], here))
      }
    }
    this.refuseRepeats(list, planned, at)
    return { path, items: planned.filter((item) => item !== undefined) }
  }

  /** A program may pass anything: what is not an entry is a problem, and the rest is planned. */
  private readable(given: unknown, at: SettingPath): List {
    if (!Array.isArray(given)) {
      this.addProblem(at, 'expected a list of plugins')
      return []
    }
    return given.filter((item: unknown, index): item is Entry | Scope => {
      const fault = faultOf(item)
      if (fault !== undefined) this.addProblem([...at, index], fault)
      return fault === undefined
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
        `"${id}" may not be left out: only what observes may, such as audit, metrics and tracing`,
      )
    }
    const options = await this.options(entry, plugin, id, at)
    // Only the built-in plugins are known to add their own secrets, and a schema takes time to convert.
    const isKnown = typeof entry.use === 'string' && this.loader.isBuiltIn(entry.use)
    return {
      id,
      plugin,
      required,
      options,
      secrets: isKnown ? [] : secretsIn(entry.with, jsonSchemaOf(plugin.options)),
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
      const place = original.named ?? [...at, index, original.id === undefined ? 'use' : 'id']
      const { named } = list[first] as Entry
      // An entry that a preset adds by itself was written nowhere.
      const before = original.named === undefined ? [...at, first] : named
      const there = before === undefined ? '' : `, at ${this.locate(before)}`
      this.addProblem(place, `"${id}" is in the list already${there}: give this one an \`id\` of its own`)
    }
  }

  private addProblem(at: SettingPath, message: string): void {
    this.problems.push({ place: this.locate(at), message })
  }

  /** No entry depends on one that may be left out. */
  checkObservers(scope: PlannedScope, all = entriesOf(scope)): void {
    for (const item of scope.items) {
      if (isPlannedScope(item)) this.checkObservers(item, all)
      else if (!item.required) {
        const other = dependentOn(item, all)
        if (other === undefined) continue
        this.faultOf(scope, item.id, `it may not be left out: "${other.id}" depends on what it provides`)
      }
    }
  }

  /** Every requirement has a provider in its scope or outside it, and nothing of which there can be one is there twice in a scope. */
  checkCapabilities(
    scope: PlannedScope,
    outside: readonly Capability[] = [Health, ...sharedIn(scope)],
  ): void {
    const entries = scope.items.filter((item): item is PlannedEntry => !isPlannedScope(item))
    const provided = entries.flatMap(({ plugin }) => plugin.provides ?? [])
    const inReach = new Set([...outside, ...provided].map(({ token }) => token))
    const providers = new Map<symbol, string>()

    for (const { id, plugin } of entries) {
      for (const { name, token } of plugin.requires ?? []) {
        if (!inReach.has(token))
          this.faultOf(scope, id, `it needs ${article(name)}, and nothing in the list provides one`)
      }
      for (const capability of plugin.provides ?? []) {
        const other = providers.get(capability.token)
        const what = article(capability.name)
        if (isSingle(capability) && other !== undefined)
          this.faultOf(scope, id, `it provides ${what}, and so does "${other}": there can be one`)
        providers.set(capability.token, id)
      }
    }
    for (const item of scope.items) {
      if (isPlannedScope(item)) this.checkCapabilities(item, [...outside, ...provided])
    }
  }

  private faultOf(scope: PlannedScope, id: string, message: string): void {
    this.problems.push({
      place: scope.path === '' ? `plugin "${id}"` : `plugin "${id}" in ${scope.path}`,
      message,
    })
  }
}

const article = (name: string): string => `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`

/** What a scope anywhere in the list provides for the whole process. */
const sharedIn = ({ items }: PlannedScope): Capability[] =>
  items.flatMap((item) =>
    isPlannedScope(item)
      ? sharedIn(item)
      : (item.plugin.provides ?? []).filter((capability) => capability.kind === 'many' && capability.shared),
  )

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
  if (id !== undefined && typeof id !== 'string') return 'expected `id` to be a text'
  return required === undefined || typeof required === 'boolean'
    ? undefined
    : 'expected `required` to be true or false'
}
