import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { booted, listening } from 'sallyport/testing'
import { internalRoutes, type RegistryOptions, registryOf, server, wrapped } from '../registry/registry.js'

export const sync = { method: 'POST', url: '/internal/sync/remote' } as const

export function mirror(t: TestContext, url: string, more: object = {}, options: RegistryOptions = {}) {
  const remoteRegistry = { use: 'source/http', with: { name: 'remote', url, allowPrivateIP: true, ...more } }
  return booted(t, [...registryOf([remoteRegistry], ['remote'], options), internalRoutes])
}

export const json = (response: ServerResponse, value: unknown, headers: Record<string, string> = {}) =>
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))

export const pageOf = (servers: unknown[], nextCursor?: string) => ({
  servers,
  metadata: { count: servers.length, nextCursor },
})

const dated = (name: string, updatedAt: string) =>
  wrapped(server(`a.example/${name}`, '1.0.0'), { status: 'active', publishedAt: updatedAt, updatedAt })

export const one = dated('one', '2024-01-01T00:00:00Z')
export const two = dated('two', '2024-01-02T00:00:00Z')

/** A registry with this handler, and the requests that it got. */
export async function remoteRegistry(
  t: TestContext,
  handle: (request: IncomingMessage, response: ServerResponse, times: number) => void,
) {
  const requests: IncomingMessage[] = []
  const listener: RequestListener = (request, response) => {
    requests.push(request)
    handle(request, response, requests.length)
  }
  return { url: await listening(t, listener), requests }
}
