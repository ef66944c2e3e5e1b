import { proxyTable, tunnelGroup } from '#plugins/presets/proxy/table.js'
import type { SettingGroup } from '#plugins/presets/settings/setting.js'
import type { CommandDefinition } from '../../line/option.js'
import { presetGroups } from '../../line/shared-flags.js'
import { serverName } from '../proxy/flags.js'

// Behind a tunnel the flag opens the proxy to the internet.
const help = 'Accept anybody on the internet, instead of --oidc-issuer'

const [general, ...others] = proxyTable.map(
  ({ title, options }): SettingGroup => ({
    title,
    options: options.map((option) =>
      option.name === 'allow-unauthenticated' ? { ...option, help } : option,
    ),
  }),
)

export const proxyTunnelCommand: CommandDefinition = {
  name: 'proxy tunnel',
  summary: 'Forward to one MCP server, reachable from outside through a tunnel',
  description:
    'The same proxy, reachable from outside through a reverse forward by ssh, or through any tunnel client that you have. The ready line and the discovery metadata show its public URL. The proxy opens a lost tunnel again, and closes it when the proxy ends. Callers need a token, unless --allow-unauthenticated is given.',
  positionals: [serverName],
  groups: presetGroups([general ?? tunnelGroup, tunnelGroup, ...others]),
  readsFile: true,
  examples: [
    '# your own server: it forwards https://mcp.example.com to port 9000',
    'sallyport proxy tunnel notes --target-uri http://127.0.0.1:3000/mcp \\\n  --oidc-issuer https://idp.example.com --oidc-audience mcp \\\n  --tunnel-provider ssh --tunnel-ssh-destination me@mcp.example.com \\\n  --tunnel-ssh-remote-port 9000 --tunnel-public-url https://mcp.example.com',
    '# any tunnel client',
    'sallyport proxy tunnel notes --target-uri http://127.0.0.1:3000/mcp \\\n  --oidc-issuer https://idp.example.com --oidc-audience mcp \\\n  --tunnel-provider command --tunnel-command "cloudflared tunnel --url {url}"',
  ],
}
