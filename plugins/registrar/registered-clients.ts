import { createHash } from 'node:crypto'
import type { RegisteredClient, RegistrationRequest, StateStore } from 'sallyport'
import { z } from 'zod'

const kept = z.object({
  issuer: z.string(),
  clientId: z.string(),
  clientSecret: z.string().optional(),
  tokenEndpointAuthMethod: z.string().optional(),
  redirectUris: z.array(z.string()).optional(),
  secretExpiresAt: z.number().optional(),
})

const PREFIX = 'oauth/client/'
// A secret that ends while a person signs in is of no use.
const MARGIN = 300

type Wanted = Pick<RegistrationRequest, 'issuer' | 'redirectUris' | 'grantTypes'>

/** Clients that were registered: one for each issuer and way back, since issuers compare redirect URIs as text. */
export class KeptClients {
  constructor(private readonly store: () => StateStore) {}

  async find(wanted: Wanted): Promise<RegisteredClient | undefined> {
    const text = await this.store().get(keyOf(wanted))
    const client = text === undefined ? undefined : read(text)
    if (client === undefined || client.issuer !== wanted.issuer) return undefined
    const { secretExpiresAt: end = 0 } = client
    return end === 0 || end > Date.now() / 1000 + MARGIN ? client : undefined
  }

  async keep(wanted: Wanted, client: RegisteredClient): Promise<void> {
    await this.store().set(keyOf(wanted), JSON.stringify(client))
  }

  async forget({ issuer, clientId }: RegisteredClient): Promise<void> {
    for (const key of await this.store().keys(PREFIX)) {
      const client = read((await this.store().get(key)) ?? '')
      if (client?.issuer === issuer && client.clientId === clientId) await this.store().delete(key)
    }
  }
}

function read(text: string): RegisteredClient | undefined {
  try {
    return kept.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

const keyOf = ({ issuer, redirectUris, grantTypes }: Wanted): string =>
  PREFIX +
  createHash('sha256')
    .update(JSON.stringify([issuer, redirectUris, grantTypes]))
    .digest('hex')
    .slice(0, 32)
