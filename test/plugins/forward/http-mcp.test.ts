import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { serving } from '#kit/booted.js'
import { everything } from '#kit/everything.js'
import { realIssuer } from '#kit/oidc-provider.js'
import { oidcSettings } from '#kit/oidc-settings.js'

/** The results of a client: all lists, a call with progress, a resource, and notifications. */
async function clientView(
  t: TestContext,
  url: string,
  headers: Record<string, string> = {},
): Promise<object> {
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  // The SDK's class does not fit its own interface under exactOptionalPropertyTypes.
  await client.connect(transport as never)
  t.after(() => client.close())
  const progress: unknown[] = []
  const seen = {
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    tools: await client.listTools(),
    prompts: await client.listPrompts(),
    resources: (await client.listResources()).resources.length,
    echo: await client.callTool({ name: 'echo', arguments: { message: 'Grüße' } }),
    long: await client.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 3 } },
      undefined,
      { onprogress: (each) => progress.push(each) },
    ),
    wrong: await client.callTool({ name: 'no-such-tool' }).catch((error: Error) => error.message),
    progress,
  }
  await transport.terminateSession()
  return seen
}

test('the official client gets the same from the reference server through the proxy, with a token too', async (t) => {
  const target = await everything(t)
  const issuer = await realIssuer(t)
  const open = await serving(t, proxy(ProxySettings.parse({ targetUri: target })))
  const guarded = await serving(
    t,
    proxy(
      ProxySettings.parse({
        targetUri: target,
        ...oidcSettings(issuer),
      }),
    ),
  )

  const direct = await clientView(t, target)
  assert.deepEqual(await clientView(t, `${open.addresses.main}/mcp`), direct)
  const authorization = `Bearer ${await issuer.token()}`
  assert.deepEqual(await clientView(t, `${guarded.addresses.main}/mcp`, { authorization }), direct)
  await assert.rejects(
    clientView(t, `${guarded.addresses.main}/mcp`, { authorization: 'Bearer x' }),
    /invalid_token/,
  )
})
