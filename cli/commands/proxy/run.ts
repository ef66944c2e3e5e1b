import { ProxySettings, proxy as proxyList } from 'sallyport/presets/proxy'
import { proxyTable } from '#plugins/presets/proxy/table.js'
import { readPreset } from '../../config/preset-settings.js'
import type { Result } from '../../config/result.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { clientsPart, internalPart } from '../../ready-line.js'
import { type GatewayCommand, runGateway } from '../../run-gateway.js'

/** Forwards to one MCP server. */
export const proxy = (invocation: Invocation, io: Io): Promise<number> => runGateway(command, invocation, io)

/** The settings of `sallyport proxy`, from flags, environment and file. */
export const readProxySettings = (invocation: Invocation): Promise<Result<ProxySettings>> =>
  readPreset({ table: proxyTable, schema: ProxySettings }, invocation)

const command: GatewayCommand<ProxySettings> = {
  read: readProxySettings,
  list: proxyList,
  readyLine: (settings, addresses) => {
    const details = internalPart(addresses, clientsPart(settings, addresses.main))
    return `sallyport proxy "${settings.name}" listening on ${addresses.main} -> ${settings.targetUri}${details}`
  },
}
