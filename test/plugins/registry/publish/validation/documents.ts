import { readFileSync } from 'node:fs'
import type { JsonObject } from 'sallyport/toolkit'

export const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'

export const plain = {
  $schema: SCHEMA,
  name: 'com.example/weather',
  description: 'Tells the weather',
  version: '1.0.0',
}

const stdio = { type: 'stdio' }
const packaged = (...packages: readonly JsonObject[]): JsonObject => ({ ...plain, packages })

/** One for each kind of package and remote, in the forms that the official registry documents. */
export const good: readonly JsonObject[] = [
  plain,
  {
    ...plain,
    title: 'Weather',
    websiteUrl: 'https://example.com/weather',
    icons: [{ src: 'https://example.com/a.png', sizes: ['48x48'] }],
  },
  {
    ...plain,
    repository: { url: 'https://git.example.com/team/weather', source: 'gitea', subfolder: 'src/server' },
  },
  { ...plain, _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { tool: 'ci', build: 7 } } },
  packaged({ registryType: 'npm', identifier: '@username/email-mcp', version: '1.0.0', transport: stdio }),
  packaged({
    registryType: 'pypi',
    identifier: 'database-query-mcp',
    version: '1.0.0',
    runtimeHint: 'uvx',
    transport: stdio,
  }),
  packaged({
    registryType: 'nuget',
    identifier: 'Username.AzureDevOpsMcp',
    version: '0.4.0-beta',
    transport: stdio,
  }),
  packaged({ registryType: 'cargo', identifier: 'widget-mcp', version: '0.3.0', transport: stdio }),
  packaged({
    registryType: 'oci',
    identifier: 'registry.example.com/username/kubernetes-mcp:1.0.0',
    transport: stdio,
  }),
  packaged({
    registryType: 'oci',
    identifier: `localhost:5000/a/b/c@sha256:${'a'.repeat(64)}`,
    transport: stdio,
  }),
  packaged({
    registryType: 'mcpb',
    identifier: 'https://github.com/username/image-mcp/releases/download/v1.0.0/image.mcpb',
    fileSha256: 'fe333e598595000ae021bd27117db32ec69af6987f507ba7a63c90638ff633ce',
    transport: stdio,
  }),
  packaged({
    registryType: 'npm',
    identifier: 'files-mcp',
    version: '2.0.0',
    runtimeArguments: [
      {
        type: 'named',
        name: '--mount',
        value: 'src={source}',
        variables: { source: { format: 'filepath' } },
      },
    ],
    packageArguments: [
      { type: 'positional', valueHint: 'port', isRequired: true, default: '8080' },
      { type: 'positional', value: 'start' },
      { type: 'named', name: '--directory', isRepeated: true, choices: ['a', 'b'] },
    ],
    environmentVariables: [{ name: 'KEY', isSecret: true, isRequired: true }],
    transport: {
      type: 'streamable-http',
      url: 'http://localhost:{port}/mcp',
      headers: [{ name: 'X-Key', value: '{key}', variables: { key: {} } }],
    },
  }),
  {
    ...plain,
    remotes: [
      {
        type: 'streamable-http',
        url: 'https://{tenant}.example.com/mcp',
        variables: { tenant: { isRequired: true } },
      },
      { type: 'sse', url: 'https://mcp.example.com/sse', headers: [{ name: 'X-API-Key', isSecret: true }] },
    ],
  },
]

/** Those that the examples of this project serve. */
export const served: readonly JsonObject[] = JSON.parse(
  readFileSync('examples/registry/servers.json', 'utf8'),
).map((each: JsonObject) => each['server'] ?? each)
