import { type JsonSchema, jsonSchemaOf } from 'sallyport'
import { nearest } from 'sallyport/problem'
import { type Paint, painter } from '../colour.js'
import { type KnownPlugin, knownPlugins } from '../config/known-plugins.js'
import { isMapping } from '../config/path.js'
import type { Invocation } from '../options/option.js'
import { pluginsGroups } from '../options/plugins.js'
import { valuesOf } from '../options/values.js'
import { exitCode, tell } from '../terminal.js'

/** Lists the plugins that a file may name; one of them with everything it takes. */
export async function plugins({ given, positionals: [name] }: Invocation): Promise<number> {
  const { config, json } = valuesOf(pluginsGroups, given)
  const known = await knownPlugins(config)
  if ('problems' in known) return tell(known.problems)

  const uses = known.plugins.map(({ use }) => use)
  const wanted = known.plugins.filter(({ use }) => name === undefined || use === name)
  if (name !== undefined && wanted.length === 0) {
    const suggestion = nearest(name, uses)
    const message =
      'no plugin is called so; `sallyport plugins` lists them, with --config those of a file too'
    return tell([{ place: 'NAME', message, ...(suggestion !== undefined && { suggestion }) }])
  }
  const told = wanted.map(described)
  const paint = painter(process.stdout, process.env)
  const text = json
    ? JSON.stringify(told, undefined, 2)
    : told.map((plugin) => (name === undefined ? brief(plugin, paint) : whole(plugin, paint))).join('\n')
  process.stdout.write(`${text}\n`)
  return exitCode.asked
}

type Described = ReturnType<typeof described>

const described = ({ use, builtIn, version, plugin }: KnownPlugin) => ({
  use,
  name: plugin.name,
  builtIn,
  api: plugin.api,
  version,
  summary: plugin.summary,
  provides: (plugin.provides ?? []).map((capability) => capability.name),
  requires: (plugin.requires ?? []).map((capability) => capability.name),
  options: jsonSchemaOf(plugin.options),
})

function brief(plugin: Described, paint: Paint): string {
  const { required, optional } = optionNames(plugin)
  const names = [...required, ...optional.map((name) => `[${name}]`)].join(' ')
  return [headOf(plugin, paint), ...(names === '' ? [] : [`  ${paint('dim', names)}`])].join('\n')
}

function headOf({ use, api, version, summary }: Described, paint: Paint): string {
  const level = `${version ?? 'no version'}, API level ${api}`
  return `${paint('bold', use)} (${level})\n  ${summary ?? 'It does not say what it does.'}`
}

function whole(plugin: Described, paint: Paint): string {
  const { provides, requires } = plugin
  const lines = [
    headOf(plugin, paint),
    ...(provides.length > 0 ? [`  provides: ${provides.join(', ')}`] : []),
    ...(requires.length > 0 ? [`  needs: ${requires.join(', ')}`] : []),
    ...optionLines(plugin, paint),
  ]
  return lines.join('\n')
}

function optionNames({ options = {} }: Described) {
  const known = Object.keys(propertiesOf(options))
  const must = Array.isArray(options['required']) ? options['required'] : []
  return {
    required: known.filter((name) => must.includes(name)),
    optional: known.filter((name) => !must.includes(name)),
  }
}

function optionLines(plugin: Described, paint: Paint): readonly string[] {
  if (plugin.options === undefined) return ['  its schema cannot tell its options']
  const { required } = optionNames(plugin)
  return Object.entries(propertiesOf(plugin.options)).flatMap(([name, about]) => {
    const facts = isMapping(about) ? about : {}
    const remarks = [
      ...(required.includes(name) ? ['required'] : []),
      ...('default' in facts ? [`default ${JSON.stringify(facts['default'])}`] : []),
      ...(facts['writeOnly'] === true ? ['secret'] : []),
    ]
    const { description } = facts
    const said = typeof description === 'string' ? description : 'not described'
    const more = remarks.length === 0 ? '' : ` (${remarks.join('; ')})`
    return [`  ${paint('cyan', name)}${more}`, `      ${said}`]
  })
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, unknown>> {
  const { properties } = schema
  return isMapping(properties) ? properties : {}
}
