import { ClientRegistrar, type RegistrationRequest } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

contractSuite('every registrar', () => ({
  list: [
    { use: 'state/memory' },
    {
      use: 'registrar/given',
      with: { clientId: 'ours', clientSecret: 'kept', issuer: 'https://one.example' },
    },
    { use: 'registrar/remembered' },
    { use: 'registrar/metadata-document', with: { url: 'https://ours.example/client.json' } },
    { use: 'registrar/dynamic' },
  ],
}))

const providing = (more: object): unknown => ({ name: 'r', register: async () => undefined, ...more })

findsFaults(ClientRegistrar, {
  'a registrar without a name': { code: 'REGISTRAR_UNNAMED', make: () => providing({ name: undefined }) },
  'an error for an issuer that registers no client': {
    code: 'REGISTRAR_THROWS',
    make: () =>
      providing({
        async register({ metadata, fetch }: RegistrationRequest) {
          const response = await fetch(String(metadata['registration_endpoint']))
          throw new TypeError(`status ${response.status}`)
        },
      }),
  },
  'the same client for every issuer': {
    code: 'CLIENT_FOREIGN',
    make: () => providing({ register: async () => ({ issuer: 'https://one.example', clientId: 'mine' }) }),
  },
  'clients stored under an issuer without its last slash': {
    code: 'CLIENT_FOREIGN',
    make: () =>
      providing({
        register: async ({ issuer }: RegistrationRequest) => ({
          issuer: issuer.replace(/\/$/, ''),
          clientId: 'mine',
        }),
      }),
  },
  'an error for the client of another registrar': {
    code: 'REGISTRAR_STARTLED',
    make: () => providing({ forget: () => Promise.reject(new Error('unknown client')) }),
  },
})
