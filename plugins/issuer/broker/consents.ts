import { digestOf } from 'sallyport/toolkit'
import { z } from 'zod'
import type { StoredLogin } from './logins.js'
import type { SealedState } from './values.js'

const KIND = 'consent'
const YEAR_SECONDS = 365 * 86_400

const Stored = z.object({ scopes: z.array(z.string()), client: z.string() })

/** What a client asks a person for. */
export interface Wanted {
  readonly clientId: string
  /** What the client calls itself, or its host. */
  readonly name: string
  /** Of the client's metadata: a changed document is asked about again. */
  readonly client: string
  readonly resource: string
  readonly scopes: readonly string[]
}

/** What people allowed before. */
export class Consents {
  constructor(private readonly state: SealedState) {}

  async has(login: StoredLogin, { clientId, client, resource, scopes }: Wanted): Promise<boolean> {
    const { data } = Stored.safeParse(await this.state.get(KIND, idOf(login, clientId, resource)))
    return (
      data !== undefined && data.client === client && scopes.every((scope) => data.scopes.includes(scope))
    )
  }

  add(login: StoredLogin, { clientId, client, resource, scopes }: Wanted): Promise<void> {
    return this.state.set(KIND, idOf(login, clientId, resource), { scopes, client }, YEAR_SECONDS)
  }
}

const idOf = ({ idp, subject }: StoredLogin, clientId: string, resource: string): string =>
  digestOf(JSON.stringify([idp, subject, clientId, resource]))
