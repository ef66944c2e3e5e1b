import { proxyTable } from '#plugins/presets/proxy/table.js'
import type { CommandDefinition, Positional } from '../../line/option.js'
import { presetGroups } from '../../line/shared-flags.js'
import { workers } from '../../workers/flags.js'

export const serverName = {
  name: 'SERVER_NAME',
  help: 'a name for the server, shown in logs and in the ready line',
  required: true,
  reserved: ['stdio', 'tunnel'],
} as const satisfies Positional

export const proxyCommand: CommandDefinition = {
  name: 'proxy',
  summary: 'Forward to one MCP server: authenticate callers, add the credential for the target',
  description:
    'Forwards HTTP to one MCP server, unchanged. It can check the tokens of incoming requests (--oidc-issuer), and give outgoing ones a credential of their own (--remote-auth, --remote-auth-bearer-token-file, --token-exchange-url); with neither, everything is forwarded as it is.',
  positionals: [serverName],
  groups: presetGroups(proxyTable, [workers]),
  readsFile: true,
  examples: [
    '# no authentication: requests are forwarded as they are',
    'sallyport proxy github --target-uri https://mcp.example.com/mcp',
    '# outgoing: the proxy signs in to the target, in your browser',
    'sallyport proxy github --target-uri https://mcp.example.com/mcp --remote-auth',
    '# incoming: callers need a token of your identity provider',
    'sallyport proxy github --target-uri https://mcp.example.com/mcp \\\n  --oidc-issuer https://idp.example.com --oidc-audience mcp',
    '# both: a token is checked, and the target gets another one from a file',
    'sallyport proxy github --target-uri https://mcp.example.com/mcp \\\n  --oidc-issuer https://idp.example.com --oidc-audience mcp \\\n  --remote-auth-bearer-token-file ./token',
  ],
}
