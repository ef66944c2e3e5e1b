import type { Plugin } from 'sallyport'
import { type JsonSchema, jsonSchemaOf } from 'sallyport/embed'
import { isJsonObject } from 'sallyport/toolkit'
import type { FindingList } from '../findings/finding-list.js'

type Options = Readonly<Record<string, unknown>>

/** A plausible value for each required option. */
export const sampleOptions = (plugin: Plugin): Options => Object.fromEntries(samples(plugin))

const PATH_NAME = /(?:file|path|folder|dir|directory)$/i

/** The required options that name a file or folder and have no example: a sample path would lead nowhere. */
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

/** The options with the canary as each secret, so that a leak is recognized in any output. */
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
  if (plugin.options === undefined) return findings.ok('options', 'it has no options')
  const schema = jsonSchemaOf(plugin.options)
  if (schema === undefined) {
    const advice =
      'use a schema library that can generate one, such as Zod 4, so that editors can complete options'
    findings.warning(
      'options',
      'OPTIONS_UNTOLD',
      'the schema of its options generates no JSON Schema',
      advice,
    )
  }
  examineDescriptions(findings, schema)
  await examineTypes(findings, plugin, schema, options)
  const unknown = 'an-unknown-option'
  const result = await plugin.options['~standard'].validate({ ...options, [unknown]: true })
  if (result.issues === undefined) {
    const advice = 'use z.strictObject: a misspelt option would be ignored silently'
    findings.wrong('options', 'OPTIONS_LAX', 'an unknown option is accepted', advice)
  } else findings.ok('options', 'an unknown option is refused')
}

/** Checks that each option refuses a value of another type than its schema has. */
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
  const advice = "check the type: otherwise an operator's mistake has another meaning, or fails much later"
  findings.wrong(
    'options',
    'OPTIONS_UNCHECKED',
    `an object is accepted as the value of ${lax.join(', ')}`,
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
  findings.wrong('options', 'SECRET_UNMARKED', `named like a secret, and not marked as one: ${names}`, advice)
}
