import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BenchContext } from '../context.js'

/** Writes a file with so many servers, and returns the configuration of a registry that serves it. */
export function registryFile({ home, issuers }: BenchContext, count: number): object {
  const path = join(home, `servers-${count}.json`)
  const servers = Array.from({ length: count }, (_, index) => ({
    name: `com.example/server-${index}`,
    description: `a server of the bench, number ${index}`,
    version: '1.0.0',
    remotes: [{ type: 'streamable-http', url: `https://mcp-${index}.example.com/mcp` }],
  }))
  writeFileSync(path, JSON.stringify(servers))
  const { name, issuerUrl, audience, allowPrivateIP } = issuers.RS256.issuer.provider
  const providers = [{ name, issuerUrl, audience, allowPrivateIP }]
  return {
    address: '127.0.0.1:0',
    internalAddress: '127.0.0.1:0',
    stateDirectory: null,
    auth: { oauth: { resourceUrl: 'http://127.0.0.1/', providers } },
    sources: [{ name: 'own', file: { path } }],
    registries: [{ name: 'default', sources: ['own'] }],
  }
}
