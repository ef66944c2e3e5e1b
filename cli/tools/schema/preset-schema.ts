import type { JsonSchema } from 'sallyport/embed'
import { keyOf } from '#plugins/presets/settings/setting.js'
import type { FilePreset } from '../../config/file-presets.js'
import type { KnownPlugin } from '../../config/known-plugins.js'
import type { Option } from '../../line/option.js'
import { changed, definitions, reference, withReferences } from './plugin-schemas.js'
import { registrySections } from './registry-sections.js'
import { pluginRules, useSchema } from './run-schema.js'

/** The schema of a preset's file: its settings, and the options of every plugin that may stand in it. */
export function presetSchema(
  { kind, options, schema }: FilePreset,
  plugins: readonly KnownPlugin[],
): JsonSchema {
  const $defs = definitions(plugins)
  // A flag may give a required setting.
  const { required: _, ...settings } = options.reduce(withTexts, schema)
  const withPlugins = changed(settings, ['properties', 'plugins', 'items'], (entry) => ({
    ...changed(entry, ['properties', 'use'], () => useSchema(plugins)),
    allOf: pluginRules(plugins),
  }))
  const whole = kind === 'registry' ? registrySections(withPlugins, plugins, $defs) : withPlugins
  const title = `The configuration of \`sallyport ${kind.replace('-', ' ')}\``
  return withReferences({ ...whole, title, $defs }) as JsonSchema
}

/** The reader of a flag's text also reads the value in a file, so the schema allows a text too. */
function withTexts(settings: JsonSchema, option: Option): JsonSchema {
  if (option.path !== undefined) return settings
  return changed(settings, ['properties', keyOf(option.name)], (schema) => {
    const { description, default: usual, ...typed } = schema
    const forms = formsOf(option, typed)
    if (forms === undefined) return schema
    return { description, ...(usual !== undefined && { default: usual }), anyOf: forms }
  })
}

function formsOf({ type }: Option, typed: JsonSchema): readonly JsonSchema[] | undefined {
  const text: JsonSchema = { type: 'string' }
  switch (type) {
    case 'boolean':
    case 'int':
    case 'port':
      return [typed, reference]
    case 'size':
      return [typed, { ...text, pattern: '^\\d+([kKmMgG]?[iI]?[bB])?$' }]
    case 'duration':
      return [{ ...text, pattern: '^(0|(\\d+h)?(\\d+m)?(\\d+s)?(\\d+ms)?)$' }]
    case 'list':
      return [typed, text]
    case 'pair':
      return [
        { type: 'array', items: { ...text, pattern: '^[^=]+=' } },
        { type: 'object', additionalProperties: text },
        text,
      ]
    case 'address':
    case 'choice':
    case 'count':
    case 'repeatable':
    case 'string':
    case 'url':
      return undefined
  }
}
