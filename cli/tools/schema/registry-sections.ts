import { Authenticator, ManagedSource, Source } from 'sallyport'
import type { JsonSchema } from 'sallyport/embed'
import { providerTypes } from 'sallyport/presets/incoming'
import type { KnownPlugin } from '../../config/known-plugins.js'
import { asSchema, changed, conditional, optionsWith, optionsWithout, when } from './plugin-schemas.js'

/** Adds the options of plugins to the sources, providers and publishers of the registry's settings. */
export function registrySections(
  settings: JsonSchema,
  plugins: readonly KnownPlugin[],
  definition: JsonSchema,
): JsonSchema {
  const withSources = changed(settings, ['properties', 'sources', 'items'], (source) =>
    sourceSchema(source, plugins, definition),
  )
  const providers = ['properties', 'auth', 'properties', 'oauth', 'properties', 'providers', 'items']
  const withProviders = changed(withSources, providers, (provider) =>
    providerSchema(provider, plugins, definition),
  )
  return changed(withProviders, ['properties', 'publishers'], (publishers) => ({
    ...publishers,
    ...publisherSchema(plugins, definition),
  }))
}

/** A source has the options of its plugin without `name`: a source has a `name` of its own. */
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
  const withoutType = { not: { required: ['type'] } }
  const offered = [...types.map(([word]) => ({ const: word })), { type: 'string' }]
  return {
    ...provider,
    properties: { ...properties, type: { description: type['description'], anyOf: offered } },
    allOf: [
      conditional(withoutType, optionsOf(providerTypes[String(type['default'])] ?? '')),
      ...types.map(([word, use]) => when('type', word, optionsOf(use))),
    ],
  }
}

/** The rules for publishers come from the plugin that publishes to managed sources. */
function publisherSchema(plugins: readonly KnownPlugin[], definition: JsonSchema): JsonSchema {
  const rules = plugins
    .filter(({ plugin }) => plugin.requires?.some(({ token }) => token === ManagedSource.token))
    .map(({ use }) => asSchema(asSchema(definition[use])['properties'])['publishers'])
  const { items } = asSchema(rules.find((each) => each !== undefined))
  return items === undefined ? {} : { items }
}

const providing = (plugins: readonly KnownPlugin[], { token }: { readonly token: symbol }): string[] =>
  plugins
    .filter(({ plugin }) => plugin.provides?.some((provided) => provided.token === token))
    .map(({ use }) => use)
