import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Entry } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { createLog, serve } from 'sallyport/embed'
import { z } from 'zod'
import { listen } from '#kit/plugin.js'
import { installed } from './installed.js'

// The official suite's scenario of enterprise-managed authorization, through a gateway with the context of the suite as
// its options.
// `npm run conformance:enterprise` starts the suite, which starts this file again as the client under test.
const SUITE = '@modelcontextprotocol/conformance'
const VERSION = '0.2.0-alpha.12'
const SCENARIO = 'auth/enterprise-managed-authorization'

const Context = z.object({
  client_id: z.string(),
  client_secret: z.string(),
  idp_client_id: z.string(),
  idp_id_token: z.string(),
  idp_token_endpoint: z.string(),
})
const Document = z.object({ authorization_servers: z.array(z.string()).min(1) })
const Metadata = z.object({ issuer: z.string(), token_endpoint: z.string() })

const suiteContext = process.env['MCP_CONFORMANCE_CONTEXT']
if (suiteContext === undefined) process.exitCode = await suite()
else await callThrough(process.argv.at(-1) ?? '', JSON.parse(suiteContext))

async function suite(): Promise<number> {
  const command = `${process.execPath} -C source --import tsx ${import.meta.filename}`
  const tools = await installed([`${SUITE}@${VERSION}`])
  try {
    const { code, stdout } = await tools.run(SUITE, ['client', '--command', command, '--scenario', SCENARIO])
    process.stdout.write(stdout)
    return code ?? 1
  } finally {
    tools.remove()
  }
}

/** Calls the server under test through the gateway. */
async function callThrough(target: string, context: unknown): Promise<void> {
  const running = await serve(await listFor(target, context), {
    catalogue,
    folder: process.cwd(),
    log: createLog({ level: 'warn' }),
  })
  const { pathname } = new URL(target)
  const client = new Client({ name: 'through-the-gateway', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(pathname, running.addresses.main)))
  const { tools } = await client.listTools()
  process.stdout.write(`${tools.length} tools through the gateway\n`)
  await client.close()
  await running.stop()
}

async function listFor(target: string, given: unknown): Promise<readonly Entry[]> {
  const context = Context.parse(given)
  const { origin, pathname } = new URL(target)
  // An operator looks these up once, and writes them into the configuration.
  const { authorization_servers: servers } = Document.parse(
    await json(`${origin}/.well-known/oauth-protected-resource${pathname}`),
  )
  const server = Metadata.parse(await json(`${servers[0]}/.well-known/oauth-authorization-server`))
  const common = { allowPrivateIP: true }
  return [
    listen,
    { use: 'auth/anonymous' },
    { use: 'credential/static-bearer', with: { token: context.idp_id_token } },
    {
      use: 'credential/token-exchange',
      id: 'id-jag',
      with: {
        ...common,
        url: context.idp_token_endpoint,
        clientId: context.idp_client_id,
        // The static bearer token is an ID token here, so its type has to be set.
        requestNames: { subject_token_type: null },
        extraFields: { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' },
        requestedTokenType: 'id-jag',
        tokenType: 'N_A',
        audience: server.issuer,
        resource: target,
      },
    },
    {
      use: 'credential/token-exchange',
      id: 'target-token',
      with: {
        ...common,
        url: server.token_endpoint,
        grantType: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        clientId: context.client_id,
        clientSecret: context.client_secret,
        requestNames: { subject_token: 'assertion', subject_token_type: null },
        responseNames: { issued_token_type: null },
      },
    },
    { use: 'forward/http', with: { target } },
  ]
}

async function json(url: string): Promise<unknown> {
  const response = await fetch(url)
  return response.json()
}
