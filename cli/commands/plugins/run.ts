import { type JsonSchema, jsonSchemaOf } from 'sallyport/embed'
import { isJsonObject } from 'sallyport/toolkit'
import { nearest } from '#core/contract/problem.js'
import { type Paint, painter } from '../../colour.js'
import { hidden } from '../../config/hidden.js'
import { type KnownPlugin, knownPlugins } from '../../config/known-plugins.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printProblems } from '../../terminal.js'
import { pluginsCommand } from './flags.js'

/** Lists the plugins that a file may name; a single one with all its options. */
export async function plugins(
  { options, environment, positionals: [name] }: Invocation,
  io: Io,
): Promise<number> {
  const { config, json } = valuesOf(pluginsCommand.groups, options)
  const known = await knownPlugins(config, environment)
  if ('problems' in known) return printProblems(known.problems, io)

  const uses = known.plugins.map(({ use }) => use)
  const wanted = known.plugins.filter(({ use }) => name === undefined || use === name)
  if (name !== undefined && wanted.length === 0) {
    const suggestion = nearest(name, uses)
    const message =
      'there is no plugin of that name; `sallyport plugins` lists them, with --config those of a file too'
    return printProblems([{ place: 'NAME', message, ...(suggestion !== undefined && { suggestion }) }], io)
  }
  const descriptions = wanted.map(described)
  const paint = painter(io.stdout, io.env)
  const text = json
    ? JSON.stringify(hidden.value(descriptions), undefined, 2)
    : hidden.text(
        descriptions
          .map((plugin) => (name === undefined ? brief(plugin, paint) : full(plugin, paint)))
          .join('\n'),
      )
  io.stdout.write(`${text}\n`)
  return exitCode.ok
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
  return `${paint('bold', use)} (${level})\n  ${summary ?? 'It has no summary.'}`
}

function full(plugin: Described, paint: Paint): string {
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
  if (plugin.options === undefined) return ['  its schema has no JSON Schema']
  const { required } = optionNames(plugin)
  return Object.entries(propertiesOf(plugin.options)).flatMap(([name, about]) => {
    const facts = isJsonObject(about) ? about : {}
    const remarks = [
      ...(required.includes(name) ? ['required'] : []),
      ...('default' in facts ? [`default ${JSON.stringify(facts['default'])}`] : []),
      ...(facts['writeOnly'] === true ? ['secret'] : []),
    ]
    const { description } = facts
    const summary = typeof description === 'string' ? description : 'not described'
    const more = remarks.length === 0 ? '' : ` (${remarks.join('; ')})`
    return [`  ${paint('cyan', name)}${more}`, `      ${summary}`]
  })
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, unknown>> {
  const { properties } = schema
  return isJsonObject(properties) ? properties : {}
}
