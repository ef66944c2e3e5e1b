import { keepCompiledCode } from '../compile-cache.js'
import type { Command } from './option.js'
import { proxyGroups } from './proxy.js'
import { quickstartGroups } from './quickstart.js'
import { registryGroups } from './registry.js'
import { runGroups } from './run.js'
import { stdioGroups } from './stdio.js'
import { tunnelGroups } from './tunnel.js'

/** The commands that stay, and serve until they are told to stop. */
export const gatewayCommands: readonly Command[] = [
  {
    name: 'registry',
    summary: 'Serve a registry of MCP servers, to holders of a valid token',
    description:
      'Serves the MCP registry API. Callers need a token of one of the configured identity providers, unless the mode is anonymous.',
    positionals: [],
    groups: registryGroups,
    examples: ['sallyport registry --config registry.yaml', 'sallyport registry --auth-mode anonymous'],
    run: async () => (await import('../commands/registry.js')).registry,
  },
  {
    name: 'proxy',
    summary: 'Stand in front of one MCP server: check who comes in, add the credential that goes out',
    description:
      'Forwards HTTP to one MCP server, unchanged. It can check the tokens of incoming requests (--oidc-issuer), and give outgoing ones a credential of their own (--remote-auth, --remote-auth-bearer-token-file, --token-exchange-url); with neither, everything passes as it is.',
    positionals: [
      {
        name: 'SERVER_NAME',
        help: 'a name for the server, shown in logs and in the ready line',
        required: true,
        reserved: ['stdio', 'tunnel'],
      },
    ],
    groups: proxyGroups,
    examples: [
      '# no authentication: what comes in goes out',
      'sallyport proxy github --target-uri https://mcp.example.com/mcp',
      '# outgoing: the proxy signs in to the target, in your browser',
      'sallyport proxy github --target-uri https://mcp.example.com/mcp --remote-auth',
      '# incoming: callers need a token of your identity provider',
      'sallyport proxy github --target-uri https://mcp.example.com/mcp \\\n  --oidc-issuer https://idp.example.com --oidc-audience mcp',
      '# both: a token is checked, and the target gets another one from a file',
      'sallyport proxy github --target-uri https://mcp.example.com/mcp \\\n  --oidc-issuer https://idp.example.com --oidc-audience mcp \\\n  --remote-auth-bearer-token-file ./token',
    ],
    run: async () => (await import('../commands/proxy.js')).proxy,
  },
  {
    name: 'proxy stdio',
    summary: 'Be an MCP server on standard input and output, whose other end is a remote one',
    description:
      'For clients that can only start a command. Every message goes to the target and back as it is, with the credential that the flags give. Nothing but the protocol is written to standard output.',
    positionals: [
      {
        name: 'SERVER_NAME',
        help: 'a name for the server, shown in logs',
        required: true,
        reserved: ['stdio', 'tunnel'],
      },
    ],
    groups: stdioGroups,
    examples: [
      'sallyport proxy stdio github --remote-auth \\\n  --target-uri https://mcp.example.com/mcp',
      'sallyport proxy stdio github --print-client-config \\\n  --target-uri https://mcp.example.com/mcp',
    ],
    run: async () => {
      // Clients start it again and again, and a person waits.
      keepCompiledCode(process.env)
      return (await import('../commands/stdio.js')).stdio
    },
  },
  {
    name: 'proxy tunnel',
    summary: 'Stand in front of one MCP server, and be reachable from outside through a tunnel',
    description:
      'The same proxy, with a way in from outside: a reverse forward by ssh, or any tunnel client that you have. Its public URL is in the ready line and in what discovery tells. It is opened again when it is lost, and ends with the proxy. Callers need a token, unless --allow-unauthenticated says otherwise.',
    positionals: [
      {
        name: 'SERVER_NAME',
        help: 'a name for the server, shown in logs and in the ready line',
        required: true,
        reserved: ['stdio', 'tunnel'],
      },
    ],
    groups: tunnelGroups,
    examples: [
      '# a server of yours: its web server leads https://mcp.example.com to port 9000',
      'sallyport proxy tunnel notes --target-uri http://127.0.0.1:3000/mcp \\\n  --oidc-issuer https://idp.example.com --oidc-audience mcp \\\n  --tunnel-provider ssh --tunnel-ssh-destination me@mcp.example.com \\\n  --tunnel-ssh-remote-port 9000 --tunnel-public-url https://mcp.example.com',
      '# any tunnel client',
      'sallyport proxy tunnel notes --target-uri http://127.0.0.1:3000/mcp \\\n  --oidc-issuer https://idp.example.com --oidc-audience mcp \\\n  --tunnel-provider command --tunnel-command "cloudflared tunnel --url {url}"',
    ],
    run: async () => (await import('../commands/tunnel.js')).tunnel,
  },
  {
    name: 'run',
    summary: 'Boot any list of plugins',
    description: 'Boots the list of plugins that a file holds, in the order in which they are written.',
    positionals: [],
    groups: runGroups,
    examples: ['sallyport run --config gateway.yaml'],
    run: async () => (await import('../commands/run.js')).run,
  },
  {
    name: 'quickstart',
    summary: 'Try everything at once on this machine',
    description:
      'Starts an identity provider, a sample MCP server, a registry and a proxy on this machine, and prints commands to try on them, with real tokens. It needs nothing else, and leaves nothing behind.',
    positionals: [],
    groups: quickstartGroups,
    examples: ['sallyport quickstart', 'sallyport quickstart --port 9000'],
    run: async () => (await import('../commands/quickstart.js')).quickstart,
  },
]
