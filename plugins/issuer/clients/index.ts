/**
 * The redirect URIs of clients that are known to have them: hosted clients, and programs with a scheme of their own,
 * which could not register otherwise. Each is compared byte for byte, but a `*` at the end stands for one segment.
 * Loopback URIs need no entry.
 */
const CLIENTS: Readonly<Record<string, readonly string[]>> = {
  // Each connector of a person has a callback of its own; the second is that of older connectors.
  ChatGPT: ['https://chatgpt.com/connector/oauth/*', 'https://chatgpt.com/connector_platform_oauth_redirect'],
  Claude: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
  Cursor: [
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'https://www.cursor.com/agents/mcp/oauth/callback',
    'https://www.cursor.com/bot/mcp/oauth/callback',
  ],
  'VS Code': ['https://vscode.dev/redirect', 'https://insiders.vscode.dev/redirect'],
}

const ALL = Object.values(CLIENTS).flat()
const EXACT = new Set(ALL.filter((uri) => !uri.endsWith('*')))
const BELOW = ALL.filter((uri) => uri.endsWith('*')).map((uri) => uri.slice(0, -1))

/** Whether a client is known to have this redirect URI. */
export const isKnownRedirect = (uri: string): boolean =>
  EXACT.has(uri) || BELOW.some((start) => uri.startsWith(start) && /^[\w-]+$/.test(uri.slice(start.length)))
