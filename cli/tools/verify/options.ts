import type { Plugin } from 'sallyport'
import { type JsonSchema, jsonSchemaOf } from 'sallyport/embed'
import { isJsonObject } from 'sallyport/toolkit'
import type { FindingList } from '../findings/finding-list.js'

type Options = Readonly<Record<string, unknown>>

/** A plausible value for each required option. */
export const sampleOptions = (plugin: Plugin): Options => Object.fromEntries(samples(plugin))

const PATH_NAME = /(?:file|path|folder|dir|directory)$/i

/** The required options that name a file or folder, without an example: nothing is there that a sample could name. */
export const requiredPaths = (plugin: Plugin): readonly string[] =>
  samples(plugin).flatMap(([name, sample]) => (sample === SAMPLE && PATH_NAME.test(name) ? [name] : []))

function samples(plugin: Plugin): readonly (readonly [name: string, value: unknown])[] {
  const { properties, required } = jsonSchemaOf(plugin.options) ?? {}
  const names = Array.isArray(required) ? required.map(String) : []
  const known = isJsonObject(properties) ? properties : {}
  return names.map((name) => [name, sampleOf(known[name])])
}

const SAMPLE = 'sample'

function sampleOf(schema: unknown): unknown {
  if (!isJsonObject(schema)) return SAMPLE
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
  return format === 'uri' ? 'https://sample.example' : SAMPLE
}

/** Options with the canary in the place of each secret, so that it is recognized in any output. */
export function withCanaries(plugin: Plugin, options: Options, canary: string): Options {
  const secrets = secretNames(jsonSchemaOf(plugin.options)).filter((name) => !(name in options))
  const required = secretNames(jsonSchemaOf(plugin.options)).filter((name) => options[name] === SAMPLE)
  return { ...options, ...Object.fromEntries([...secrets, ...required].map((name) => [name, canary])) }
}

const secretNames = (schema: JsonSchema | undefined): readonly string[] =>
  propertiesOf(schema)
    .filter(([, about]) => about['writeOnly'] === true)
    .map(([name]) => name)

function propertiesOf(schema: JsonSchema | undefined): readonly (readonly [string, JsonSchema])[] {
  const properties = schema?.['properties']
  const entries = isJsonObject(properties) ? Object.entries(properties) : []
  return entries.map(([name, about]) => [name, isJsonObject(about) ? about : {}])
}

/** Checks the descriptions of the options, their types, and that unknown ones are refused. */
export async function examineOptions(findings: FindingList, plugin: Plugin, options: Options): Promise<void> {
  if (plugin.options === undefined) return findings.ok('options', 'it takes none')
  const schema = jsonSchemaOf(plugin.options)
  if (schema === undefined) {
    const advice = 'use a schema that has one, such as one of Zod 4, so that editors can complete it'
    findings.warning('options', 'OPTIONS_UNTOLD', 'their schema has no JSON Schema', advice)
  }
  examineDescriptions(findings, schema)
  await examineTypes(findings, plugin, schema, options)
  const unknown = 'an-unknown-option'
  const result = await plugin.options['~standard'].validate({ ...options, [unknown]: true })
  if (result.issues === undefined) {
    const advice = 'use z.strictObject: a misspelt option would be ignored silently'
    findings.wrong('options', 'OPTIONS_LAX', 'an option that it does not know is accepted', advice)
  } else findings.ok('options', 'an option that it does not know is refused')
}

/** Whether a value of another type than that of the schema is accepted. */
async function examineTypes(
  findings: FindingList,
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
  findings.wrong(
    'options',
    'OPTIONS_UNCHECKED',
    `an object is accepted in the place of ${lax.join(', ')}`,
    advice,
  )
}

// `secretFile` and `secretName` are no secrets.
const SECRET_NAME = /(?:secret|password|passphrase|token|apikey|privatekey)$/i

function examineDescriptions(findings: FindingList, schema: JsonSchema | undefined): void {
  const properties = propertiesOf(schema)
  const undescribed = properties.filter(([, { description }]) => typeof description !== 'string')
  if (undescribed.length > 0) {
    const names = undescribed.map(([name]) => name).join(', ')
    const advice = 'end each with .describe(...): editors and `sallyport plugins` show it'
    findings.warning('options', 'OPTIONS_UNDESCRIBED', `these are not described: ${names}`, advice)
  }
  const open = properties.filter(
    ([name, { writeOnly, type }]) => type === 'string' && writeOnly !== true && SECRET_NAME.test(name),
  )
  if (open.length === 0) return
  const names = open.map(([name]) => name).join(', ')
  const advice = 'make it with secretText(), or .meta({ writeOnly: true }), so that --print-plugins hides it'
  findings.wrong(
    'options',
    'SECRET_UNMARKED',
    `by its name this is a secret, and is not marked: ${names}`,
    advice,
  )
}
