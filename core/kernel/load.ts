import * as nodeModule from 'node:module'
import { isAbsolute, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { foreignPlace } from './foreign-place.js'
import { API_LEVEL, type Plugin } from './plugin.js'
import { nearest, type Problem } from './problem.js'

/** The built-in plugins: name to import. */
export type Catalogue = Readonly<Record<string, () => Promise<{ readonly default: Plugin }>>>

export type Loaded = { readonly plugin: Plugin } | { readonly problem: Omit<Problem, 'place'> }

/** Finds plugins by what stands in `use`. It runs a module's top level and nothing else of it. */
export class Loader {
  constructor(
    private readonly catalogue: Catalogue,
    private readonly folder: string,
  ) {}

  async load(use: string | Plugin): Promise<Loaded> {
    if (typeof use !== 'string') return check(use, 'the given object')
    const builtIn = Object.hasOwn(this.catalogue, use) ? this.catalogue[use] : undefined
    if (builtIn === undefined && !isPath(use) && !isPackage(use)) {
      return {
        problem: { message: 'expected a built-in name, a package, or a path that starts with ./, ../ or /' },
      }
    }
    try {
      const module: unknown = builtIn === undefined ? await this.importForeign(use) : await builtIn()
      return checkModule(module, use)
    } catch (error) {
      return { problem: this.explain(use, error) }
    }
  }

  private async importForeign(use: string): Promise<unknown> {
    lendOwnName()
    if (isPath(use)) return import(pathToFileURL(resolve(this.folder, use)).href)
    const from = pathToFileURL(join(this.folder, 'package.json')).href
    return import(`${FROM}${encodeURIComponent(from)}:${use}`)
  }

  private explain(use: string, error: unknown): Omit<Problem, 'place'> {
    const { code, message } =
      error instanceof Error
        ? (error as NodeJS.ErrnoException)
        : { code: undefined, message: 'no error was thrown, but something else' }
    if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
      return {
        message: `"${use}" is TypeScript, which this Node does not run: build it, or use Node 22.18 or newer`,
      }
    }
    if (code === 'ERR_UNSUPPORTED_DIR_IMPORT') return { message: `"${use}" is a folder: name the file in it` }
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'ERR_INVALID_MODULE_SPECIFIER') {
      const missing = /Cannot find (?:package|module) '([^']+)'/.exec(message)?.[1]
      const itself =
        missing === undefined || missing === packageOf(use) || missing === resolve(this.folder, use)
      if (!itself)
        return { message: `plugin "${use}" was found, but it imports "${missing}", which is not there` }
      const kind = isPath(use) ? 'no such file' : 'neither a built-in plugin nor a package installed'
      return {
        message: `plugin "${use}" not found: ${kind} at ${this.folder}`,
        suggestion: nearest(use, Object.keys(this.catalogue)),
      }
    }
    return { message: `plugin "${use}" could not be loaded: ${message}${this.placeOf(use, error)}` }
  }

  private placeOf(use: string, error: unknown): string {
    const place = error instanceof Error ? foreignPlace(error) : undefined
    if (place !== undefined) return ` (${place})`
    // Node keeps the line of text that is no JavaScript to itself.
    if (!(error instanceof SyntaxError) || !isPath(use)) return ''
    return `; try \`node --check ${relative('', resolve(this.folder, use))}\``
  }
}

// No `node:fs`, no `data:`, no control character that would break a line of the log.
const isPackage = (use: string): boolean => /^(?:@[\w.~-]+\/)?[\w~-][\w.~-]*(?:\/[\w.~-]+)*$/.test(use)

const packageOf = (use: string): string =>
  use
    .split('/')
    .slice(0, use.startsWith('@') ? 2 : 1)
    .join('/')

const isPath = (use: string): boolean => /^\.{0,2}[/\\]/.test(use) || isAbsolute(use)

function checkModule(module: unknown, use: string): Loaded {
  const { default: exported } = module as { default?: unknown }
  // A TypeScript build to CommonJS puts its default export one level deeper.
  const plugin = isCompiledDefault(exported) ? exported.default : exported
  if (plugin === undefined) {
    return {
      problem: {
        message: `"${use}" has no default export: end it with \`export default definePlugin({ ... })\``,
      },
    }
  }
  return check(plugin, `the default export of "${use}"`)
}

const isCompiledDefault = (exported: unknown): exported is { default: unknown } =>
  typeof exported === 'object' && exported !== null && '__esModule' in exported && 'default' in exported

function check(plugin: unknown, what: string): Loaded {
  if (typeof plugin !== 'object' || plugin === null) {
    return { problem: { message: `${what} is not a plugin: expected an object made by definePlugin` } }
  }
  const faults = faultsOf(plugin as Record<string, unknown>)
  if (faults.length > 0) return { problem: { message: `${what} is not a plugin: ${faults.join('; ')}` } }

  const { api } = plugin as Plugin
  if (api !== API_LEVEL) {
    const turn =
      api > API_LEVEL
        ? 'update sallyport, or use an older version of the plugin'
        : 'use a newer version of the plugin'
    return {
      problem: { message: `${what} is made for API level ${api}, this kernel has ${API_LEVEL}: ${turn}` },
    }
  }
  return { plugin: plugin as Plugin }
}

function faultsOf(plugin: Record<string, unknown>): string[] {
  const { name, api, setup, provides, requires, oneProcess, options } = plugin
  const faults: string[] = []
  if (typeof name !== 'string' || name === '') faults.push('name must be a text')
  if (!Number.isInteger(api)) faults.push('api must be a whole number')
  if (typeof setup !== 'function') faults.push('setup must be a function')
  if (!isHandles(provides)) faults.push('provides must list capabilities')
  if (!isHandles(requires)) faults.push('requires must list capabilities')
  if (oneProcess !== undefined && typeof oneProcess !== 'string') faults.push('oneProcess must be a text')
  if (options !== undefined && !(options instanceof Object && '~standard' in options)) {
    faults.push('options must be a Standard Schema, such as one of Zod')
  }
  return faults
}

const isHandles = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.every((handle) => typeof handle?.token === 'symbol'))

const FROM = 'sallyport-from:'

/**
 * Two things that Node's resolver does not do by itself: a package named in a config file is looked for from
 * that file's folder, and a plugin that imports `sallyport` gets this very copy, wherever it is installed.
 */
function lendOwnName(): void {
  // A resolver hook belongs to the process and stays, so the mark that it is there belongs to the process too.
  const done = Symbol.for('sallyport/resolver')
  if (Reflect.has(globalThis, done)) return
  Reflect.set(globalThis, done, true)
  const source = `
    const own = ${JSON.stringify(import.meta.url)}
    const lend = (specifier, context, next) => {
      if (specifier.startsWith('${FROM}')) {
        const [from, ...name] = specifier.slice(${FROM.length}).split(':')
        return next(name.join(':'), { ...context, parentURL: decodeURIComponent(from) })
      }
      const lent = specifier === 'sallyport' || specifier.startsWith('sallyport/')
      return next(specifier, lent ? { ...context, parentURL: own } : context)
    }`
  nodeModule.register(`data:text/javascript,${encodeURIComponent(`${source}\nexport const resolve = lend`)}`)
}
