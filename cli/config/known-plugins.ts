import { createRequire } from 'node:module'
import { isScope, type List, type Plugin, type Problem } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { Loader } from 'sallyport/embed'
import type { Environment } from '../line/environment.js'
import { readList } from './read-list.js'

/** A plugin that a file may name in `use`. */
export interface KnownPlugin {
  readonly use: string
  readonly builtIn: boolean
  readonly plugin: Plugin
  readonly version: string | undefined
}

export type KnownPlugins =
  | { readonly plugins: readonly KnownPlugin[] }
  | { readonly problems: readonly Problem[] }

/** The built-in plugins, and those that a file names, even when the file has other problems. */
export async function knownPlugins(
  config: string | undefined,
  environment: Environment,
): Promise<KnownPlugins> {
  const { version }: { version: string } = createRequire(import.meta.url)('sallyport/package.json')
  const loading = Object.entries(catalogue).map(async ([use, load]): Promise<KnownPlugin> => {
    return { use, builtIn: true, plugin: (await load()).default, version }
  })
  const foreign = config === undefined ? { plugins: [] } : await foreignPlugins(config, environment)
  const builtIn = await Promise.all(loading)
  return 'problems' in foreign ? foreign : { plugins: [...builtIn, ...foreign.plugins] }
}

async function foreignPlugins(config: string, environment: Environment): Promise<KnownPlugins> {
  const result = await readList(config, environment)
  const readable = 'problems' in result ? result.entries : result
  if (readable === undefined) return { problems: 'problems' in result ? result.problems : [] }

  const loader = new Loader(catalogue, readable.folder)
  const plugins: KnownPlugin[] = []
  const problems: Problem[] = []
  for (const use of new Set(usesOf(readable.settings))) {
    if (Object.hasOwn(catalogue, use)) continue
    const loaded = await loader.load(use)
    if ('problem' in loaded) problems.push({ place: config, ...loaded.problem })
    else plugins.push({ use, builtIn: false, plugin: loaded.plugin, version: loaded.plugin.version })
  }
  return problems.length > 0 ? { problems } : { plugins }
}

function usesOf(list: List): string[] {
  return list.flatMap((item) => {
    if (isScope(item)) return usesOf(item.plugins)
    return typeof item.use === 'string' ? [item.use] : []
  })
}
