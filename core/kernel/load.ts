import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { isAbsolute, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Capability } from '../contract/capability.js'
import type { Entry } from '../contract/list.js'
import { API_LEVEL, type Plugin } from '../contract/plugin.js'
import { nearest, type Problem } from '../contract/problem.js'
import { pluginFrame } from '../toolkit/plugin-frame.js'

/** The built-in plugins: name to import. */
export type Catalogue = Readonly<Record<string, () => Promise<{ readonly default: Plugin }>>>

export type Loaded = { readonly plugin: Plugin } | { readonly problem: Omit<Problem, 'place'> }

/** Loads plugins by `use`. It runs only the top level of their modules. */
export class Loader {
  constructor(
    private readonly catalogue: Catalogue,
    private readonly folder: string,
  ) {}

  isBuiltIn(use: string): boolean {
    return Object.hasOwn(this.catalogue, use)
  }

  /** The names of the built-in plugins that provide a capability. It imports all built-in plugins. */
  async providersOf({ token }: Capability): Promise<readonly string[]> {
    const loading = Object.values(this.catalogue).map(async (load) => (await load()).default)
    const plugins = await Promise.all(loading)
    const isProvider = ({ provides = [] }: Plugin): boolean => provides.some((each) => each.token === token)
    return plugins.filter(isProvider).map(({ name }) => name)
  }

  async load(use: string | Plugin): Promise<Loaded> {
    if (typeof use !== 'string') return check(use, 'the object in `use`')
    const builtIn = this.isBuiltIn(use) ? this.catalogue[use] : undefined
    if (builtIn === undefined && !isPath(use) && !isPackage(use)) {
      return {
        problem: { message: 'expected a built-in name, a package, or a path that starts with ./, ../ or /' },
      }
    }
    try {
      const module: unknown = builtIn === undefined ? await this.importExternal(use) : await builtIn()
      return checkModule(module, use)
    } catch (error) {
      return { problem: this.explain(use, error) }
    }
  }

  private async importExternal(use: string): Promise<unknown> {
    resolveOwnName()
    if (isPath(use)) return import(pathToFileURL(resolve(this.folder, use)).href)
    const from = pathToFileURL(join(this.folder, 'package.json')).href
    return import(`${FROM_PREFIX}${encodeURIComponent(from)}:${use}`)
  }

  private explain(use: string, error: unknown): Omit<Problem, 'place'> {
    const { code, message } =
      error instanceof Error
        ? (error as NodeJS.ErrnoException)
        : { code: undefined, message: 'it threw a value that is not an Error' }
    if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && /^Unknown file extension "\.[cm]?ts"/.test(message)) {
      return {
        message: `"${use}" is TypeScript, which Node does not run here: compile it to JavaScript`,
      }
    }
    const missing = /^(?:Cannot find (?:package|module)|Directory import) '([^']+)'/.exec(message)?.[1]
    const itself =
      missing === undefined || missing === packageOf(use) || resolve(missing) === resolve(this.folder, use)
    if (code === 'ERR_UNSUPPORTED_DIR_IMPORT' && itself)
      return { message: `"${use}" is a folder: name the file in it` }
    if (code !== undefined && NOT_FOUND.has(code)) {
      if (!itself)
        return {
          message: `plugin "${use}" was found, but it imports "${missing}", which does not exist${adviceFor(missing)}`,
        }
      const kind = isPath(use) ? 'no such file' : 'neither a built-in plugin nor an installed package'
      return {
        message: `plugin "${use}" not found: ${kind} at ${this.folder}`,
        suggestion: this.isFile(use) ? `./${use}` : nearest(use, Object.keys(this.catalogue)),
      }
    }
    return { message: `plugin "${use}" could not be loaded: ${message}${this.hintFor(use, error)}` }
  }

  /** Whether `use` looks like a package, but is a file beside the list. */
  private isFile(use: string): boolean {
    return !isPath(use) && existsSync(resolve(this.folder, use))
  }

  private hintFor(use: string, error: unknown): string {
    const frame = error instanceof Error ? pluginFrame(error) : undefined
    if (frame !== undefined) return ` (${frame})`
    // Node's SyntaxError does not name the line in the file.
    if (!(error instanceof SyntaxError) || !isPath(use)) return ''
    if (error.message === 'Cannot use import statement outside a module')
      return '; name it .mjs, or set "type": "module" in its package.json'
    // `node --check` finds no fault in an import that the other module does not export.
    if (error.message.startsWith('The requested module ')) return ''
    return `; try \`node --check ${relative('', resolve(this.folder, use))}\``
  }
}

/** Adds the nearest short name as a suggestion, if the plugin was not found. */
export function withShortName(
  problem: Omit<Problem, 'place'>,
  { use, shortNames = [] }: Entry,
): Omit<Problem, 'place'> {
  const suggestion = 'suggestion' in problem && typeof use === 'string' ? nearest(use, shortNames) : undefined
  return suggestion === undefined ? problem : { ...problem, suggestion }
}

// No `node:fs`, no `data:`, no control character that would break a line of the log.
const isPackage = (use: string): boolean => /^(?:@[\w.~-]+\/)?[\w~-][\w.~-]*(?:\/[\w.~-]+)*$/.test(use)

const packageOf = (use: string): string =>
  use
    .split('/')
    .slice(0, use.startsWith('@') ? 2 : 1)
    .join('/')

const adviceFor = (missing = ''): string =>
  isPackage(missing) ? `: \`npm install ${packageOf(missing)}\`` : ''

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
    const advice =
      api > API_LEVEL
        ? 'update sallyport, or use an older version of the plugin'
        : 'use a newer version of the plugin'
    return {
      problem: { message: `${what} is made for API level ${api}, this kernel has ${API_LEVEL}: ${advice}` },
    }
  }
  return { plugin: plugin as Plugin }
}

function faultsOf(plugin: Record<string, unknown>): string[] {
  const { name, api, setup, provides, requires, oneProcess, stdout, options } = plugin
  const faults: string[] = []
  if (typeof name !== 'string' || name === '') faults.push('name must be a text')
  if (!Number.isInteger(api)) faults.push('api must be a whole number')
  if (typeof setup !== 'function') faults.push('setup must be a function')
  if (!isHandles(provides)) faults.push('provides must list capabilities')
  if (!isHandles(requires)) faults.push('requires must list capabilities')
  const { reason, requiring }: { reason?: unknown; requiring?: unknown } = Object(oneProcess)
  const isReason = typeof oneProcess === 'string' || (typeof reason === 'string' && isHandles([requiring]))
  if (oneProcess !== undefined && !isReason)
    faults.push('oneProcess must be a text, or have `requiring`, a capability, and `reason`, a text')
  if (stdout !== undefined && stdout !== 'protocol') faults.push('stdout must be "protocol"')
  for (const name of ['examine', 'migrate', 'facts', 'warnings', 'omits', 'importPackages']) {
    const method = plugin[name]
    if (method !== undefined && typeof method !== 'function') faults.push(`${name} must be a function`)
  }
  if (options !== undefined && !(options instanceof Object && '~standard' in options)) {
    faults.push('options must be a Standard Schema, such as one of Zod')
  }
  return faults
}

const isHandles = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.every((handle) => typeof handle?.token === 'symbol'))

// The last one is the code of `require`.
const NOT_FOUND = new Set(['ERR_MODULE_NOT_FOUND', 'ERR_INVALID_MODULE_SPECIFIER', 'MODULE_NOT_FOUND'])

const FROM_PREFIX = 'sallyport-from:'

const RESOLVER = Symbol.for('sallyport/resolver')

/** Adds the hook once for each process, for all copies of this module: a hook cannot be removed. */
function resolveOwnName(): void {
  const shared = globalThis as { [RESOLVER]?: unknown }
  shared[RESOLVER] ??= addResolver()
}

/**
 * Adds a resolver hook to Node. It resolves a package that a configuration names from the folder of that file, and
 * gives this copy to every plugin that imports `sallyport`, wherever the plugin is installed.
 */
const addResolver = (): unknown =>
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith(FROM_PREFIX)) {
        const [from = '', ...name] = specifier.slice(FROM_PREFIX.length).split(':')
        return next(name.join(':'), { ...context, parentURL: decodeURIComponent(from) })
      }
      const isOwn = specifier === 'sallyport' || specifier.startsWith('sallyport/')
      return next(specifier, isOwn ? { ...context, parentURL: import.meta.url } : context)
    },
  })
