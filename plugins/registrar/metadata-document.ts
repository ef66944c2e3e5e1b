import { ClientRegistrar, definePlugin } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'registrar/metadata-document',
  api: 1,
  summary: 'Uses a client whose ID is the URL of its metadata document, where the issuer supports that.',
  provides: [ClientRegistrar],
  options: z.strictObject({
    url: z
      .string()
      .refine(isClientUrl, 'expected an https URL with a path, without fragment, user and dot segments')
      .describe('the URL of the document, which is the client ID'),
  }),

  setup(gateway, { url }) {
    gateway.provide(ClientRegistrar, {
      name: 'metadata document',
      async register({ issuer, metadata }) {
        if (metadata['client_id_metadata_document_supported'] !== true) return undefined
        return { issuer, clientId: url, tokenEndpointAuthMethod: 'none' }
      },
    })
  },

  facts: () => ({ hasClient: true }),
})

// draft-ietf-oauth-client-id-metadata-document, 3.
function isClientUrl(text: string): boolean {
  if (!URL.canParse(text) || /#|\/\.{1,2}(?:\/|\?|$)/.test(text)) return false
  const { protocol, username, password, pathname } = new URL(text)
  return protocol === 'https:' && username === '' && password === '' && pathname !== '/'
}
