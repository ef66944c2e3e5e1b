import type { Capability } from './capability.js'
import { AuditSink } from './contracts/audit-sink.js'
import { Health } from './contracts/health.js'
import { Telemetry } from './contracts/telemetry.js'
import type { Entry, List, Scope, SettingPath } from './list.js'
import { isScope } from './list.js'
import type { Loaded, Loader } from './load.js'
import { validateOptions } from './options.js'
import type { Plugin } from './plugin.js'
import type { Problem } from './problem.js'

// By their own tokens: a plugin's word for it that its capability only watches is worth nothing.
const OBSERVERS: readonly symbol[] = [AuditSink.token, Telemetry.token]

/** Turns a path in the operator's settings into the place a message names: a flag, or file, line and path. */
export type Locate = (path: SettingPath) => string

/** An entry that was loaded and whose options are valid. */
export interface PlannedEntry {
  readonly id: string
  readonly plugin: Plugin
  readonly options: unknown
  readonly required: boolean
}

export interface PlannedScope {
  readonly path: string
  readonly items: readonly (PlannedEntry | PlannedScope)[]
}

export const isPlannedScope = (item: PlannedEntry | PlannedScope): item is PlannedScope => 'items' in item

/** What is wrong with a list is collected here while it is read, so that all of it can be told at once. */
export class Planner {
  readonly problems: Problem[] = []
  private readonly scopePaths = new Set<string>()

  constructor(
    private readonly loader: Loader,
    private readonly locate: Locate,
  ) {}

  async plan(list: List): Promise<PlannedScope> {
    return this.scope(list, '', ['plugins'])
  }

  private async scope(given: List, path: string, at: SettingPath): Promise<PlannedScope> {
    const list = this.readable(given, at)
    // Every import is under way at once; complaints still come in list order.
    const loading = list.map((item) => (isScope(item) ? undefined : this.loader.load(item.use)))
    const planned: (PlannedEntry | PlannedScope | undefined)[] = []
    for (const [index, item] of list.entries()) {
      const here = [...at, index]
      planned.push(
        isScope(item)
          ? await this.inner(item, path, here)
          : await this.entry(item, await loading[index], here),
      )
    }
    this.refuseRepeats(list, planned, at)
    return { path, items: planned.filter((item) => item !== undefined) }
  }

  /** A program may hand over anything; what is no list of entries is told here, and the rest is looked through. */
  private readable(given: unknown, at: SettingPath): List {
    if (!Array.isArray(given)) {
      this.complain(at, 'expected a list of plugins')
      return []
    }
    return given.filter((item: unknown, index): item is Entry | Scope => {
      const fault = faultOf(item)
      if (fault !== undefined) this.complain([...at, index], fault)
      return fault === undefined
    })
  }

  private inner({ scope, plugins }: Scope, outer: string, at: SettingPath): Promise<PlannedScope> {
    const path = outer + scope
    if (!/^(\/[\w.~-]+)+$/.test(scope) || /\/\.{1,2}(\/|$)/.test(scope)) {
      this.complain([...at, 'scope'], 'expected a path such as "/github": one leading slash, none at the end')
    } else if (this.scopePaths.has(path)) {
      this.complain([...at, 'scope'], `"${path}" is in the list already: a path belongs to one scope`)
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
      this.problems.push({ place: this.locate(entry.named ?? [...at, 'use']), ...loaded.problem })
      return undefined
    }
    const { plugin } = loaded
    const id = entry.id ?? plugin.name
    const required = entry.required ?? true
    if (!required && !onlyObserves(plugin)) {
      this.complain(
        entry.named ?? [...at, 'required'],
        `"${id}" may not be left out: only audit, metrics and tracing may`,
      )
    }
    return { id, plugin, required, options: await this.options(entry, plugin, id, at) }
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

  private refuseRepeats(
    list: List,
    planned: readonly (PlannedEntry | PlannedScope | undefined)[],
    at: SettingPath,
  ): void {
    const seen = new Map<string, number>()
    for (const [index, item] of planned.entries()) {
      const original = list[index]
      if (item === undefined || original === undefined || isPlannedScope(item) || isScope(original)) continue
      const name = item.id
      const first = seen.get(name)
      if (first === undefined) {
        seen.set(name, index)
        continue
      }
      const place = original.named ?? [...at, index, original.id === undefined ? 'use' : 'id']
      const { named } = list[first] as Entry
      // What a preset adds by itself was written nowhere.
      const before = original.named === undefined ? [...at, first] : named
      const there = before === undefined ? '' : `, at ${this.locate(before)}`
      this.complain(place, `"${name}" is in the list already${there}: give this one an \`id\` of its own`)
    }
  }

  private complain(at: SettingPath, message: string): void {
    this.problems.push({ place: this.locate(at), message })
  }

  /** Every requirement has a provider in its scope or outside it, and no `one` has two in the same scope. */
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
      for (const { kind, name, token } of plugin.provides ?? []) {
        const other = providers.get(token)
        if (kind === 'one' && other !== undefined) {
          this.faultOf(scope, id, `it provides ${article(name)}, and so does "${other}": there can be one`)
        }
        providers.set(token, id)
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

const onlyObserves = ({ provides }: Plugin): boolean =>
  provides !== undefined && provides.length > 0 && provides.every(({ token }) => OBSERVERS.includes(token))

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

function whereWritten({ origin }: Entry, path: SettingPath, at: SettingPath): SettingPath {
  const [option = '', ...rest] = path
  const named = origin !== undefined && Object.hasOwn(origin, option) ? origin[option] : undefined
  if (named !== undefined) return [...named, ...rest]
  const all = origin?.['']
  return all === undefined ? [...at, 'with', ...path] : [...all, ...path]
}
