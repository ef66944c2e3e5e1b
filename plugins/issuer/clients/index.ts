/**
 * The redirect URIs of clients that are known to have them, byte for byte: hosted clients, and programs with a scheme
 * of their own, which could not register otherwise. Loopback URIs need no entry.
 */
const CLIENTS: Readonly<Record<string, readonly string[]>> = {
  'ChatGPT connectors': ['https://chatgpt.com/connector_platform_oauth_redirect'],
  'Claude connectors': [
    'https://claude.ai/api/mcp/auth_callback',
    'https://claude.com/api/mcp/auth_callback',
  ],
  Cursor: ['cursor://anysphere.cursor-mcp/oauth/callback'],
  'VS Code': ['https://vscode.dev/redirect', 'https://insiders.vscode.dev/redirect'],
}

export const KNOWN_REDIRECT_URIS: ReadonlySet<string> = new Set(Object.values(CLIENTS).flat())
