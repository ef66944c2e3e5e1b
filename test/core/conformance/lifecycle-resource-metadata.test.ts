import { ResourceMetadata } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

contractSuite('discovery/resource', () => ({
  list: [{ use: 'discovery/resource', with: { resource: 'https://a.example/mcp', scopes: ['read'] } }],
}))

const code = 'RESOURCE_METADATA_MALFORMED'

findsFaults(ResourceMetadata, {
  'a server that is no list': { code, make: () => ({ authorization_servers: 'https://idp.example' }) },
  'a list of URLs': { code, make: () => ({ authorization_servers: [new URL('https://idp.example')] }) },
  'a name that is a list': { code, make: () => ({ resource_name: ['a'] }) },
  'a flag that is a text': { code, make: () => ({ dpop_bound_access_tokens_required: 'true' }) },
  'a number in an unknown field': { code, make: () => ({ 'x-level': 7 }) },
  'a list': { code, make: () => [] },
})
