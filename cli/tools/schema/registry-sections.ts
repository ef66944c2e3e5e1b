import { Authenticator, type JsonSchema, jsonSchemaOf, Source } from 'sallyport'
import { providerTypes } from 'sallyport/presets/incoming'
import { RegistrySettings } from 'sallyport/presets/registry'
import type { KnownPlugin } from '../config/known-plugins.js'
import { isMapping } from '../config/path.js'
import {
  conditional,
  definitions,
  optionsWith,
  optionsWithout,
  when,
  withReferences,
} from './plugin-schemas.js'
import { pluginRules, useSchema } from './run-schema.js'

/** The schema of the registry's own file: its settings, and the options of every plugin where they are written. */
export function registrySchema(plugins: readonly KnownPlugin[]): JsonSchema {
  const $defs = definitions(plugins)
  const settings = jsonSchemaOf(RegistrySettings) ?? {}
  const withPlugins = changed(settings, ['properties', 'plugins', 'items'], (entry) => ({
    ...changed(entry, ['properties', 'use'], () => useSchema(plugins)),
    allOf: pluginRules(plugins),
  }))
  const withSources = changed(withPlugins, ['properties', 'sources', 'items'], (source) =>
    sourceSchema(source, plugins, $defs),
  )
  const providers = ['properties', 'auth', 'properties', 'oauth', 'properties', 'providers', 'items']
  const whole = changed(withSources, providers, (provider) => providerSchema(provider, plugins, $defs))
  const title = 'The configuration of `sallyport registry`'
  return withReferences({ ...whole, title, $defs }) as JsonSchema
}

/** A source has the options of its plugin without the name, which stands beside them. */
function sourceSchema(
  source: JsonSchema,
  plugins: readonly KnownPlugin[],
  definition: JsonSchema,
): JsonSchema {
  const sources = providing(plugins, Source)
  const optionsOf = (use: string): JsonSchema => optionsWithout(asSchema(definition[use]), 'name')
  const properties = asSchema(source['properties'])
  const kinds = Object.keys(properties).filter((key) => sources.includes(`source/${key}`))
  const ofKinds = kinds.map((kind) => {
    return [kind, { ...asSchema(properties[kind]), ...optionsOf(`source/${kind}`) }]
  })
  return {
    ...source,
    properties: { ...properties, ...Object.fromEntries(ofKinds) },
    oneOf: [...kinds, 'use'].map((kind) => ({ required: [kind] })),
    allOf: sources.map((use) => when('use', use, { properties: { with: optionsOf(use) } })),
  }
}

/** A provider has the options of the plugin that `type` picks, beside `type` itself. */
function providerSchema(
  provider: JsonSchema,
  plugins: readonly KnownPlugin[],
  definition: JsonSchema,
): JsonSchema {
  const properties = asSchema(provider['properties'])
  const type = asSchema(properties['type'])
  const optionsOf = (use: string): JsonSchema => optionsWith(asSchema(definition[use]), 'type', type)
  const types = [
    ...Object.entries(providerTypes),
    ...providing(plugins, Authenticator).map((use) => [use, use] as const),
  ]
  const unsaid = { not: { required: ['type'] } }
  const offered = [...types.map(([word]) => ({ const: word })), { type: 'string' }]
  return {
    ...provider,
    properties: { ...properties, type: { description: type['description'], anyOf: offered } },
    allOf: [
      conditional(unsaid, optionsOf(providerTypes[String(type['default'])] ?? '')),
      ...types.map(([word, use]) => when('type', word, optionsOf(use))),
    ],
  }
}

const providing = (plugins: readonly KnownPlugin[], { token }: { readonly token: symbol }): string[] =>
  plugins
    .filter(({ plugin }) => plugin.provides?.some((provided) => provided.token === token))
    .map(({ use }) => use)

/** A copy with one place in it made anew. */
function changed(
  schema: JsonSchema,
  [step, ...rest]: readonly string[],
  change: (there: JsonSchema) => JsonSchema,
): JsonSchema {
  if (step === undefined) return change(schema)
  return { ...schema, [step]: changed(asSchema(schema[step]), rest, change) }
}

const asSchema = (value: unknown): JsonSchema => (isMapping(value) ? value : {})
