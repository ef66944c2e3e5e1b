import { definePlugin, type Fetch, GatewayError, IssuerMetadata } from 'sallyport'
import { type JsonObject, jsonObject } from 'sallyport/toolkit'

export default definePlugin({
  name: 'discovery/issuer',
  api: 1,
  summary: 'Finds the keys and endpoints of issuers: by OpenID Connect Discovery, else by RFC 8414.',
  provides: [IssuerMetadata],

  setup(gateway) {
    gateway.provide(IssuerMetadata, readIssuerMetadata)
  },
})

async function readIssuerMetadata(issuer: string, fetch: Fetch): Promise<JsonObject> {
  let lastFailure = 'no response'
  for (const url of metadataUrls(issuer)) {
    const response = await fetch(url, { headers: { accept: 'application/json' } })
    if (response.status !== 200) {
      lastFailure = `status ${response.status}`
      continue
    }
    const metadata = jsonObject(await response.text())
    if (metadata === undefined) throw new GatewayError('DISCOVERY_MALFORMED', `${url} is not a JSON object`)
    // Byte for byte: otherwise an attacker who can serve the document of another issuer could name keys of their own.
    if (metadata['issuer'] === issuer) return metadata
    throw new GatewayError('ISSUER_MISMATCH', `the document at ${url} names another issuer than issuerUrl`)
  }
  throw new GatewayError('DISCOVERY_FAILED', `discovery of ${issuer} failed: ${lastFailure}`)
}

function metadataUrls(issuer: string): readonly string[] {
  const base = issuer.replace(/\/$/, '')
  const { origin, pathname } = new URL(base)
  const path = pathname === '/' ? '' : pathname
  return [
    `${base}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ]
}
