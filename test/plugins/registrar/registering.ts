import type { TestContext } from 'node:test'
import { ClientRegistrar, type Entry, type RegisteredClient, type RegistrationRequest } from 'sallyport'
import { booted, recordedLog } from '#kit/booted.js'
import { plugin } from '#kit/plugin.js'

/** The registrars of a list, called in order as a login does. */
export async function startRegistrars(t: TestContext, entries: readonly Entry[], directory?: string) {
  const found: (readonly ClientRegistrar[])[] = []
  const taking = plugin('taking', (gateway) => {
    const registrars = gateway.use(ClientRegistrar)
    gateway.onStart(() => void found.push(registrars()))
  })
  const store =
    directory === undefined ? { use: 'state/memory' } : { use: 'state/sqlite', with: { directory } }
  await booted(t, [store, ...entries, taking], { log: recordedLog().log })
  const registrars = found.flat()
  return {
    registrars,
    async register(request: RegistrationRequest): Promise<RegisteredClient | undefined> {
      for (const registrar of registrars) {
        const client = await registrar.register(request)
        if (client !== undefined) return client
      }
      return undefined
    },
  }
}

export const registrationRequest = (
  issuer: string,
  more: Partial<RegistrationRequest> = {},
): RegistrationRequest => ({
  issuer,
  metadata: { registration_endpoint: `${issuer}/register` },
  redirectUris: ['http://127.0.0.1:8666/callback'],
  grantTypes: ['authorization_code', 'refresh_token'],
  scopes: [],
  fetch,
  ...more,
})

export const dynamicRegistrars = [{ use: 'registrar/remembered' }, { use: 'registrar/dynamic' }]
