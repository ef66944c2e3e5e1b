import type { Addresses } from 'sallyport'
import { ProxySettings, proxy as proxyList } from 'sallyport/presets/proxy'
import { proxyTable } from '#plugins/presets/proxy/table.js'
import { readPreset } from '../../config/preset-settings.js'
import type { Result } from '../../config/result.js'
import type { GatewayCommand } from '../../gateway-command.js'
import type { Invocation } from '../../line/option.js'
import { internalPart } from '../../ready-line.js'
import { runGateway } from '../../run-gateway.js'

/** Forwards to one MCP server. */
export const proxy = (invocation: Invocation): Promise<number> => runGateway(command, invocation)

/** The settings of `sallyport proxy`, from flags, environment and file. */
export const readProxySettings = (invocation: Invocation): Promise<Result<ProxySettings>> =>
  readPreset({ table: proxyTable, schema: ProxySettings }, invocation)

const command: GatewayCommand<ProxySettings> = {
  read: readProxySettings,
  list: proxyList,
  readyLine: ({ name, targetUri, ...settings }, addresses) => {
    const details = internalPart(addresses, clientsPart(settings, targetUri, addresses))
    return `sallyport proxy "${name}" listening on ${addresses.main} -> ${targetUri}${details}`
  },
}

/** Clients that find out where to get a token compare their URL with that of the resource (RFC 9728, 3.3). */
function clientsPart(
  { oidcIssuer, resourceUrl }: Pick<ProxySettings, 'oidcIssuer' | 'resourceUrl'>,
  targetUri: string,
  { main = '' }: Addresses,
): string | undefined {
  if (oidcIssuer === undefined) return undefined
  const { pathname } = new URL(targetUri)
  const url = resourceUrl ?? (pathname === '/' ? main : main + pathname)
  return url === main ? undefined : `clients that sign in use ${url}`
}
