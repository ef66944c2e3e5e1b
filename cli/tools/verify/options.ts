import { type JsonSchema, jsonSchemaOf, type Plugin } from 'sallyport'
import { isMapping } from '../config/path.js'
import type { Chart } from '../findings/chart.js'

type Options = Readonly<Record<string, unknown>>

/** What an operator would write: what was given, else something that each required option takes. */
export function sampleOptions(plugin: Plugin): Options {
  const { properties, required } = jsonSchemaOf(plugin.options) ?? {}
  const names = Array.isArray(required) ? required.map(String) : []
  const known = isMapping(properties) ? properties : {}
  return Object.fromEntries(names.map((name) => [name, sampleOf(known[name])]))
}

function sampleOf(schema: unknown): unknown {
  if (!isMapping(schema)) return 'sample'
  const { examples, enum: choices, type, format, minimum, anyOf } = schema
  const first = (list: unknown): unknown => (Array.isArray(list) ? list[0] : undefined)
  if ('const' in schema) return schema['const']
  const offered = first(examples) ?? first(choices)
  if (offered !== undefined) return offered
  if (Array.isArray(anyOf)) return sampleOf(anyOf[0])
  if (type === 'boolean') return false
  if (type === 'number' || type === 'integer') return typeof minimum === 'number' ? minimum : 1
  if (type === 'array') return []
  if (type === 'object') return {}
  return format === 'uri' ? 'https://sample.example' : 'sample'
}

/** Options with a secret of our own in the place of each, so that it is known again wherever it comes out. */
export function withCanaries(plugin: Plugin, options: Options, canary: string): Options {
  const secrets = secretNames(jsonSchemaOf(plugin.options)).filter((name) => !(name in options))
  const required = secretNames(jsonSchemaOf(plugin.options)).filter((name) => options[name] === 'sample')
  return { ...options, ...Object.fromEntries([...secrets, ...required].map((name) => [name, canary])) }
}

const secretNames = (schema: JsonSchema | undefined): readonly string[] =>
  propertiesOf(schema)
    .filter(([, about]) => about['writeOnly'] === true)
    .map(([name]) => name)

function propertiesOf(schema: JsonSchema | undefined): readonly (readonly [string, JsonSchema])[] {
  const properties = schema?.['properties']
  const entries = isMapping(properties) ? Object.entries(properties) : []
  return entries.map(([name, about]) => [name, isMapping(about) ? about : {}])
}

/** What the options say of themselves, and whether they refuse what they do not know. */
export async function examineOptions(chart: Chart, plugin: Plugin, options: Options): Promise<void> {
  if (plugin.options === undefined) return chart.ok('options', 'it takes none')
  const schema = jsonSchemaOf(plugin.options)
  if (schema === undefined) {
    const advice = 'use a schema that has one, such as one of Zod 4, so that editors can complete it'
    chart.warning('options', 'OPTIONS_UNTOLD', 'their schema cannot tell its JSON Schema', advice)
  }
  examineWords(chart, schema)
  await examineTypes(chart, plugin, schema, options)
  const odd = 'an-option-that-nobody-knows'
  const result = await plugin.options['~standard'].validate({ ...options, [odd]: true })
  if (result.issues === undefined) {
    const advice = 'use z.strictObject: an option that is misspelt would be ignored, and nobody would know'
    chart.wrong('options', 'OPTIONS_LAX', 'an option that it does not know is accepted', advice)
  } else chart.ok('options', 'an option that it does not know is refused')
}

/** A value of another type than the schema tells. */
async function examineTypes(
  chart: Chart,
  plugin: Plugin,
  schema: JsonSchema | undefined,
  options: Options,
): Promise<void> {
  const lax: string[] = []
  for (const [name, { type }] of propertiesOf(schema)) {
    if (!['string', 'number', 'integer', 'boolean'].includes(String(type))) continue
    const result = await plugin.options?.['~standard'].validate({ ...options, [name]: { odd: true } })
    if (result?.issues === undefined) lax.push(name)
  }
  if (lax.length === 0) return
  const advice = 'check the type: what the operator wrote would mean something else, or fail much later'
  chart.wrong(
    'options',
    'OPTIONS_UNCHECKED',
    `an object is accepted in the place of ${lax.join(', ')}`,
    advice,
  )
}

// Files and names of secrets are none.
const SECRET_NAME = /(?:secret|password|passphrase|token|apikey|privatekey)$/i

function examineWords(chart: Chart, schema: JsonSchema | undefined): void {
  const properties = propertiesOf(schema)
  const unsaid = properties.filter(([, { description }]) => typeof description !== 'string')
  if (unsaid.length > 0) {
    const names = unsaid.map(([name]) => name).join(', ')
    const advice = 'end each with .describe(...): editors and `sallyport plugins` show it'
    chart.warning('options', 'OPTIONS_UNDESCRIBED', `these are not described: ${names}`, advice)
  }
  const open = properties.filter(
    ([name, { writeOnly, type }]) => type === 'string' && writeOnly !== true && SECRET_NAME.test(name),
  )
  if (open.length === 0) return
  const names = open.map(([name]) => name).join(', ')
  const advice = 'make it with secretText(), or .meta({ writeOnly: true }), so that --print-plugins hides it'
  chart.wrong(
    'options',
    'SECRET_UNMARKED',
    `by its name this is a secret, and is not marked: ${names}`,
    advice,
  )
}
