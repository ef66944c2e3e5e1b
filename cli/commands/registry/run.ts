import { RegistrySettings, registry as registryList } from 'sallyport/presets/registry'
import { registryTable } from '#plugins/presets/registry/table.js'
import { readPreset } from '../../config/preset-settings.js'
import type { Result } from '../../config/result.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { internalPart } from '../../ready-line.js'
import { type GatewayCommand, runGateway } from '../../run-gateway.js'

/** Serves a registry. */
export const registry = (invocation: Invocation, io: Io): Promise<number> =>
  runGateway(command, invocation, io)

/** The settings of `sallyport registry`, from flags, environment and file. */
export const readRegistrySettings = (invocation: Invocation): Promise<Result<RegistrySettings>> =>
  readPreset({ table: registryTable, schema: RegistrySettings }, invocation)

const command: GatewayCommand<RegistrySettings> = {
  read: readRegistrySettings,
  list: registryList,
  readyLine: (_settings, addresses) =>
    `sallyport registry listening on ${addresses.main}${internalPart(addresses)}`,
}
