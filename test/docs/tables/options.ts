import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Plugin } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { type JsonSchema, jsonSchemaOf } from 'sallyport/embed'
import { RegistrySettings } from 'sallyport/presets/registry'
import { table } from '../markdown.js'

type Properties = Readonly<Record<string, JsonSchema>>

const root = join(import.meta.dirname, '../../..')

const kindOf = (name: string): string => name.split('/')[0] ?? ''

/** Every kind of the catalogue, in its order. */
export const allKinds = (): string[] => [...new Set(Object.keys(catalogue).map(kindOf))]

/** One row for each kind: the first paragraph of its page, and its plugins. Links start at `plugins/`. */
export function kinds(): string {
  const rows = allKinds().map((kind) => {
    const names = Object.keys(catalogue).filter((name) => kindOf(name) === kind)
    const links = names.map((name) => `[\`${name}\`](${kind}/README.md#${name.replace('/', '')})`)
    return [`[${kind}](${kind}/README.md)`, firstParagraph(kind), links.join(', ')]
  })
  return table(['kind', 'what it is for', 'plugins'], rows)
}

function firstParagraph(kind: string): string {
  const page = join(root, 'plugins', kind, 'README.md')
  const text = existsSync(page) ? readFileSync(page, 'utf8') : ''
  const paragraph = text.split('\n\n')[1]?.replaceAll('\n', ' ').replace(/\.$/, '') ?? ''
  // Relative links of that page would be wrong here.
  return paragraph.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
}

/** The plugins of the kind that `page` describes, each with its options. */
export async function plugins(page: string): Promise<string> {
  const kind = page.split('/').at(-2)
  const own = Object.entries(catalogue).filter(([name]) => kindOf(name) === kind)
  const loaded = await Promise.all(own.map(async ([, load]) => (await load()).default))
  return loaded.map((plugin, index) => section(plugin, loaded.slice(0, index))).join('\n\n')
}

const MIN_SHARED = 10
const MAX_OWN = 2

/**
 * A plugin that shares nearly all options with an earlier one of its page links to them, instead of repeating their
 * rows.
 */
function section(plugin: Plugin, earlier: readonly Plugin[]): string {
  const { name, summary = '' } = plugin
  const rows = rowsOf(plugin)
  const sharedWith = (other: Plugin) =>
    rows.filter((row) => rowsOf(other).some((each) => isDeepStrictEqual(each, row)))
  const base = earlier.find(
    (other) => sharedWith(other).length >= Math.max(MIN_SHARED, rows.length - MAX_OWN),
  )
  const shared = base === undefined ? [] : sharedWith(base)
  const own = rows.filter((row) => !shared.includes(row))
  const options = own.length === 0 ? 'It has no options.' : table(['option', 'default', 'meaning'], own)
  const anchor = base?.name.replaceAll('/', '')
  const names = shared.map(([option]) => option).join(', ')
  const link = base === undefined ? [] : [`Also, described at [\`${base.name}\`](#${anchor}): ${names}.`]
  return [`### \`${name}\``, summary, options, ...link].join('\n\n')
}

function rowsOf({ options: schema }: Plugin): string[][] {
  const { properties = {}, required = [] } = (jsonSchemaOf(schema) ?? {}) as {
    properties?: Properties
    required?: readonly string[]
  }
  return Object.entries(properties).map(([option, about]) => [
    `\`${option}\`${required.includes(option) ? ' (required)' : ''}`,
    'default' in about ? `\`${JSON.stringify(about['default'])}\`` : '',
    typeof about['description'] === 'string' ? about['description'] : '',
  ])
}

/** Every key of the registry's file, with those below it. */
export function settings(): string {
  return table(['key', 'default', 'meaning'], keysOf(jsonSchemaOf(RegistrySettings) ?? {}, ''))
}

function keysOf(schema: JsonSchema, above: string): string[][] {
  const { properties = {}, required = [] } = schema as {
    properties?: Properties
    required?: readonly string[]
  }
  return Object.entries(properties).flatMap(([key, about]) => {
    const path = `${above}${key}`
    const {
      items,
      description = '',
      default: usual,
    } = about as Record<string, unknown> & { items?: JsonSchema }
    const hasMore = 'properties' in about || (items !== undefined && 'properties' in items)
    const own = [
      `\`${path}\`${required.includes(key) ? ' (required)' : ''}`,
      usual === undefined || hasMore ? '' : `\`${JSON.stringify(usual)}\``,
      String(description),
    ]
    const below = items === undefined ? keysOf(about, `${path}.`) : keysOf(items, `${path}[].`)
    return [own, ...below]
  })
}
