import assert from 'node:assert/strict'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { catalogue } from 'sallyport/builtin'
import { createLog, serve } from 'sallyport/embed'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { type Installed, installed } from './installed.js'
import { sdkServer } from './sdk-server/http.js'

// Popular clients must see the same through the proxy as without it.
const REMOTE = 'mcp-remote'
const INSPECTOR = '@modelcontextprotocol/inspector'
const VERSIONS: readonly string[] = [`${REMOTE}@0.15.1`, `${INSPECTOR}@2.12.0`]
const TOOL = 'test_simple_text'

type Seen = Readonly<Record<'tools' | 'called', unknown>>

const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** Calls mcp-remote over its standard streams, as an MCP client does. */
async function remote(tools: Installed, url: string): Promise<Seen> {
  const [command, path] = tools.command(REMOTE)
  const args = [path, url, '--transport', 'http-only']
  const transport = new StdioClientTransport({ command, args, env: tools.environment, stderr: 'ignore' })
  const client = new Client({ name: 'conformance', version: '1' })
  await client.connect(transport)
  const seen = { tools: await client.listTools(), called: await client.callTool({ name: TOOL }) }
  await client.close()
  return seen
}

async function inspector(tools: Installed, url: string): Promise<Seen> {
  const ask = async (method: string, ...more: string[]): Promise<unknown> => {
    const argv = ['--cli', url, '--transport', 'http', '--method', method, ...more]
    const { code, stdout } = await tools.run(INSPECTOR, argv)
    assert.equal(code, 0, `${INSPECTOR} ${method} ended with ${code}`)
    return JSON.parse(stdout)
  }
  return { tools: await ask('tools/list'), called: await ask('tools/call', '--tool-name', TOOL) }
}

const server = await sdkServer()
const tools = await installed(VERSIONS)
const running = await serve(proxy(ProxySettings.parse({ targetUri: server.url })), {
  catalogue,
  folder: process.cwd(),
  log: createLog({ level: 'warn' }),
})
try {
  const clients = { [REMOTE]: remote, [INSPECTOR]: inspector }
  for (const [name, client] of Object.entries(clients)) {
    const direct = await client(tools, server.url)
    const through = await client(tools, `${running.addresses.main}/mcp`)
    assert.deepEqual(through, direct, name)
    assert.match(JSON.stringify(through.called), /This is a simple text response/)
    const count = JSON.stringify(through.tools).split('"name":"test_').length - 1
    print(`${name}: ${count} tools and a call, the same directly and through the proxy`)
  }
} finally {
  await running.stop()
  await server.close()
  tools.remove()
}
