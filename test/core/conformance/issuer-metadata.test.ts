import { type Fetch, IssuerMetadata } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'
import { providing } from '#kit/plugin.js'

contractSuite('discovery/issuer', () => ({ list: [{ use: 'discovery/issuer' }] }))

const table: Readonly<Record<string, object>> = { 'https://one.example': { issuer: 'https://one.example' } }

contractSuite('a table of issuers', () => ({
  list: [providing('table', IssuerMetadata, async (issuer) => table[issuer] && { ...table[issuer] })],
}))

const read = async (issuer: string, fetch: Fetch) => (await fetch(`${issuer}/.well-known/x`)).json()

findsFaults(IssuerMetadata, {
  'reading by the global fetch': {
    code: 'FETCH_BYPASSED',
    make: () => (issuer: string) => read(issuer, globalThis.fetch),
  },
  'making metadata up': {
    code: 'ISSUER_MISMATCH',
    make: () => async (issuer: string) => ({ issuer, jwks_uri: `${issuer}/jwks` }),
  },
  'returning a text': {
    code: 'METADATA_MALFORMED',
    make: () => async (issuer: string, fetch: Fetch) => {
      const { issuer: found } = Object(await read(issuer, fetch))
      return found === issuer ? 'found' : undefined
    },
  },
  'accepting every document': { code: 'ISSUER_MISMATCH', make: () => read },
  'comparing without the last slash': {
    code: 'ISSUER_MISMATCH',
    make: () => async (issuer: string, fetch: Fetch) => {
      const metadata = Object(await read(issuer, fetch))
      return String(metadata.issuer).replace(/\/$/, '') === issuer ? metadata : undefined
    },
  },
})
