import { TunnelSettings as schema, type TunnelSettings, tunnel as tunnelList } from 'sallyport/presets/tunnel'
import { type Preset, runGateway } from '../gateway.js'
import type { Invocation } from '../options/option.js'
import { readProxySettings } from './proxy.js'
import { internalPart } from './ready-line.js'

/** Stands in front of one MCP server, and is reachable from outside. */
export const tunnel = (invocation: Invocation): Promise<number> => runGateway(preset, invocation)

const preset: Preset<TunnelSettings> = {
  read: async (invocation) => readProxySettings(invocation, schema),
  list: tunnelList,
  readyLine: ({ name, targetUri }, addresses) => {
    const { main, public: outside } = addresses
    const way = `${outside} by a tunnel to ${main} -> ${targetUri}`
    return `sallyport proxy "${name}" reachable at ${way}${internalPart(addresses)}`
  },
}
