import type { List, Problem } from 'sallyport'
import { type JsonSchema, jsonSchemaOf } from 'sallyport/embed'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { RegistrySettings, registry } from 'sallyport/presets/registry'
import { TunnelSettings, tunnel } from 'sallyport/presets/tunnel'
import { proxyTable, tunnelTable } from '#plugins/presets/proxy/table.js'
import { registryTable } from '#plugins/presets/registry/table.js'
import type { Option } from '../line/option.js'
import type { Document } from './document.js'
import { type PresetReader, presetOfFile } from './preset-settings.js'
import { mapped, type Result } from './result.js'

/** A preset whose file can be read without starting it. */
export interface FilePreset {
  /** The argument of `sallyport schema` for it. */
  readonly kind: 'registry' | 'proxy' | 'proxy-tunnel'
  readonly options: readonly Option[]
  /** The JSON Schema of its settings. */
  readonly schema: JsonSchema
  list(document: Document, earlier: readonly Problem[]): Result<List>
}

/** When several presets know the keys of a file, the first one reads it. `proxy stdio` reads the file of `proxy`. */
export const filePresets = (): readonly FilePreset[] => [
  filePreset('registry', { table: registryTable, schema: RegistrySettings }, registry),
  filePreset('proxy', { table: proxyTable, schema: ProxySettings }, proxy),
  filePreset('proxy-tunnel', { table: tunnelTable, schema: TunnelSettings }, tunnel),
]

function filePreset<Settings>(
  kind: FilePreset['kind'],
  reader: PresetReader<Settings>,
  list: (settings: Settings) => List,
): FilePreset {
  return {
    kind,
    options: reader.table.flatMap(({ options }) => options),
    schema: jsonSchemaOf(reader.schema) ?? {},
    list: (document, earlier) => mapped(presetOfFile(reader, document, earlier), list),
  }
}
