import { type JsonSchema, jsonSchemaOf } from 'sallyport'
import type { KnownPlugin } from '../config/known-plugins.js'
import { conditional, definitions, referenceTo, when, withReferences } from './plugin-schemas.js'

/** The schema of what `sallyport run` reads. */
export function runSchema(plugins: readonly KnownPlugin[]): JsonSchema {
  const list = { type: 'array', items: { $ref: '#/$defs/item' } }
  const root = { type: 'object', properties: { plugins: list }, required: ['plugins'] }
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'A list of plugins for `sallyport run`',
    ...conditional({ type: 'array' }, list, { ...root, additionalProperties: false }),
    $defs: {
      item: conditional(
        { type: 'object', required: ['scope'] },
        { $ref: '#/$defs/scope' },
        { $ref: '#/$defs/entry' },
      ),
      scope: {
        type: 'object',
        properties: {
          scope: { type: 'string', description: 'the path below which this list serves' },
          plugins: { ...list, description: 'a list like the one around it' },
        },
        required: ['scope', 'plugins'],
        additionalProperties: false,
      },
      entry: entrySchema(plugins),
      ...definitions(plugins),
    },
  }
  return withReferences(schema) as JsonSchema
}

function entrySchema(plugins: readonly KnownPlugin[]): JsonSchema {
  return {
    type: 'object',
    properties: {
      use: useSchema(plugins),
      with: { description: "the plugin's options" },
      id: { type: 'string', description: 'tells it apart from another entry of the same plugin' },
      required: { type: 'boolean', description: 'false lets the gateway start without it' },
    },
    required: ['use'],
    additionalProperties: false,
    allOf: pluginRules(plugins),
  }
}

/** Any text, with the known ones offered. */
export const useSchema = (plugins: readonly KnownPlugin[]): JsonSchema => ({
  description: 'a built-in name, a package, or a path that starts with ./, ../ or /',
  anyOf: [
    ...plugins.map(({ use, plugin }) => ({ const: use, description: plugin.summary ?? use })),
    { type: 'string' },
  ],
})

/** For each plugin what `with` may hold, and whether it must be there. */
export const pluginRules = (plugins: readonly KnownPlugin[]): readonly JsonSchema[] =>
  plugins.map(({ use, plugin }) =>
    when('use', use, {
      properties: { with: referenceTo(use) },
      ...(needsOptions(plugin) && { required: ['with'] }),
    }),
  )

const needsOptions = ({ options }: KnownPlugin['plugin']): boolean => {
  const { required } = jsonSchemaOf(options) ?? {}
  return Array.isArray(required) && required.length > 0
}
