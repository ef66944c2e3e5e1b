import { hash } from 'node:crypto'
import type { RegisteredClient, RegistrationRequest, StateStore } from 'sallyport'
import { registeredClient } from 'sallyport/toolkit'

const PREFIX = 'oauth/client/'
// In seconds: a secret must not expire while the user signs in.
const MARGIN = 300

type ClientFor = Pick<RegistrationRequest, 'issuer' | 'redirectUris' | 'grantTypes'>

/**
 * The store of registered clients: one for each issuer and redirect URI, since issuers compare redirect URIs as
 * strings.
 */
export class RegisteredClients {
  constructor(private readonly store: () => StateStore) {}

  async find(request: ClientFor): Promise<RegisteredClient | undefined> {
    const text = await this.store().get(keyOf(request))
    const client = text === undefined ? undefined : parseClient(text)
    const { secretExpiresAt: end = 0 } = client ?? {}
    return end === 0 || end > Date.now() / 1000 + MARGIN ? client : undefined
  }

  async save(request: ClientFor, client: RegisteredClient): Promise<void> {
    await this.store().set(keyOf(request), JSON.stringify(client))
  }

  async forget({ issuer, clientId }: RegisteredClient): Promise<void> {
    for (const key of await this.store().keys(PREFIX)) {
      const client = parseClient((await this.store().get(key)) ?? '')
      if (client?.issuer === issuer && client.clientId === clientId) await this.store().delete(key)
    }
  }
}

function parseClient(text: string): RegisteredClient | undefined {
  try {
    return registeredClient.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

const keyOf = ({ issuer, redirectUris, grantTypes }: ClientFor): string =>
  PREFIX + hash('sha256', JSON.stringify([issuer, redirectUris, grantTypes])).slice(0, 32)
