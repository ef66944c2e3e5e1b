import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

// The suite runs this as "the client": it starts a proxy that signs in, visits the page of the login, and makes a few
// calls.
const [target = ''] = process.argv.slice(-1)
const context: Readonly<Record<string, unknown>> = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}')
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''
const revision = process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'] ?? '2025-11-25'

const flags = [
  'conformance',
  `--target-uri=${target}`,
  '--remote-auth',
  '--remote-auth-skip-browser',
  '--remote-auth-no-store',
  '--remote-auth-callback-port=0',
  ...clientFlags(),
]

function clientFlags(): string[] {
  const { client_id: id, client_secret: secret, private_key_pem: key } = context
  if (scenario === 'auth/basic-cimd') {
    return ['--remote-auth-client-id=https://conformance-test.local/client-metadata.json']
  }
  if (typeof id !== 'string') return []
  return [
    `--remote-auth-client-id=${id}`,
    ...(typeof key === 'string' ? [`--remote-auth-client-key-file=${keyFileOf(key)}`] : []),
    ...(typeof secret === 'string' ? [`--remote-auth-client-secret=${secret}`] : []),
    ...(scenario.includes('client-credentials') ? ['--remote-auth-grant=client_credentials'] : []),
  ]
}

/** Writes the key to a file: the proxy reads keys only from files. */
function keyFileOf(key: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'sallyport-conformance-')), 'key.pem')
  writeFileSync(file, key, { mode: 0o600 })
  process.on('exit', () => rmSync(dirname(file), { recursive: true, force: true }))
  return file
}

const bin = fileURLToPath(new URL('../../cli/bin.ts', import.meta.url))
const proxy = spawn(
  process.execPath,
  ['-C', 'source', '--import', import.meta.resolve('tsx'), bin, 'proxy', ...flags],
  {
    stdio: ['ignore', 'pipe', 'pipe'],
  },
)
createInterface({ input: proxy.stderr }).on('line', (line) => {
  process.stderr.write(`${line}\n`)
  const url = /^Open this URL to sign in: (\S+)$/.exec(line)?.[1]
  // The suite's issuer redirects the browser back at once.
  if (url !== undefined)
    fetch(url).then(
      (page) => page.text(),
      () => {},
    )
})
const [ready]: string[] = await once(createInterface({ input: proxy.stdout }), 'line')
const url = /http:\/\/\S+/.exec(ready ?? '')?.[0] ?? ''

let session: string | undefined
let calls = 0

/** Makes one call, and returns its result; undefined when the proxy has no token for it. */
async function call(method: string, params: object = {}): Promise<Record<string, unknown> | undefined> {
  const isNote = method.startsWith('notifications/')
  const response = await fetch(`${url}${new URL(target).pathname}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': revision,
      'mcp-method': method,
      ...(session !== undefined && { 'mcp-session-id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', method, params, ...(!isNote && { id: ++calls }) }),
  })
  session = response.headers.get('mcp-session-id') ?? session
  const text = await response.text()
  process.stderr.write(`${method}: ${response.status} ${text.slice(0, 300)}\n`)
  if (!response.ok || isNote) return undefined
  const json = text.startsWith('{') ? text : (/^data: (\{.*)$/m.exec(text)?.[1] ?? '{}')
  return JSON.parse(json).result
}

const clientInfo = { name: 'sallyport-conformance', version: '1' }
// From 2026-07-28 on, every call carries what `initialize` sent before.
const meta =
  revision >= '2026'
    ? {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': revision,
          'io.modelcontextprotocol/clientInfo': clientInfo,
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      }
    : {}
if (revision < '2026') {
  await call('initialize', { protocolVersion: revision, capabilities: {}, clientInfo })
  await call('notifications/initialized')
}
const listed = await call('tools/list', meta)
const tools = Array.isArray(listed?.['tools']) ? listed['tools'] : []
for (const { name } of tools) await call('tools/call', { name, arguments: {}, ...meta })

proxy.kill('SIGTERM')
await once(proxy, 'exit')
