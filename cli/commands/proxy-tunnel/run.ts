import { TunnelSettings, tunnel as tunnelList } from 'sallyport/presets/tunnel'
import { tunnelTable } from '#plugins/presets/proxy/table.js'
import { readPreset } from '../../config/preset-settings.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { clientsPart, internalPart } from '../../ready-line.js'
import { type GatewayCommand, runGateway } from '../../run-gateway.js'

/** Forwards to one MCP server, and is reachable from outside. */
export const tunnel = (invocation: Invocation, io: Io): Promise<number> => runGateway(command, invocation, io)

const command: GatewayCommand<TunnelSettings> = {
  read: (invocation) => readPreset({ table: tunnelTable, schema: TunnelSettings }, invocation),
  list: tunnelList,
  readyLine: (settings, addresses) => {
    const { main, public: outside } = addresses
    const details = internalPart(addresses, clientsPart(settings, outside))
    const route = `${outside} by a tunnel to ${main} -> ${settings.targetUri}`
    return `sallyport proxy "${settings.name}" reachable at ${route}${details}`
  },
}
