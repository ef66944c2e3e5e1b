/** The revision of the protocol that has no sessions. */
export const STATELESS = '2026-07-28'

const PREFIX = 'io.modelcontextprotocol/'
const META = {
  [`${PREFIX}protocolVersion`]: STATELESS,
  [`${PREFIX}clientInfo`]: { name: 'test', version: '1' },
  [`${PREFIX}clientCapabilities`]: {},
}

/** A call as clients of that revision send it. */
export const callStateless = (
  url: string,
  method: string,
  params: { readonly name?: string; readonly uri?: string },
): Promise<Response> => {
  const name = params.name ?? params.uri
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': STATELESS,
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } }),
  })
}
