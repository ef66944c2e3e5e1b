import { randomBytes } from 'node:crypto'
import type { Log, Login, LoginProvider, SignIn } from 'sallyport'
import { type ClaimCondition, type JsonObject, matchesClaims } from 'sallyport/toolkit'
import { z } from 'zod'
import type { SealedState } from './values.js'

const KIND = 'login'
const MOST_CLIENTS = 20

const StoredLogin = z.object({
  idp: z.string(),
  subject: z.string(),
  claims: z.record(z.string(), z.unknown()),
  tokens: z.object({
    access: z.string(),
    refresh: z.string().optional(),
    id: z.string().optional(),
    expiresAt: z.number().optional(),
  }),
  at: z.number(),
  asked: z.number().default(0),
  clients: z.array(z.string()).default([]),
})

/** A sign-in at the provider, as it is stored. Several authorizations of one browser may hang on it. */
export interface StoredLogin extends Login {
  readonly id: string
  readonly idp: string
  /** When the person signed in, in milliseconds since the epoch. */
  readonly at: number
  /** When the provider last said who the person is, in milliseconds since the epoch. */
  readonly asked: number
  /** The names of the clients that the person allowed. */
  readonly clients: readonly string[]
}

interface Dependencies {
  readonly state: SealedState
  readonly provider: () => LoginProvider
  readonly require: ClaimCondition | 'anyone' | undefined
  /** Seconds that a sign-in is kept without a refresh. */
  readonly lifetime: number
  /** Whether an operator has revoked it. */
  readonly isRevoked: (login: StoredLogin) => boolean
  readonly log: Log
}

/** The sign-ins of people, each stored once with the tokens of the provider. */
export class Logins {
  private readonly listeners: ((id: string) => void)[] = []

  constructor(private readonly dependencies: Dependencies) {}

  /** Whether the operator lets this person in. */
  admits({ subject, claims }: Login): boolean {
    const { require } = this.dependencies
    if (require === undefined || require === 'anyone') return true
    if (Object.hasOwn(require, 'email') && hasUnverifiedEmail(claims)) return false
    return matchesClaims(require, { provider: this.dependencies.provider().idp, subject, claims })
  }

  async add(login: Login): Promise<StoredLogin> {
    const id = randomBytes(18).toString('base64url')
    const at = Date.now()
    const stored = { ...login, id, idp: this.dependencies.provider().idp, at, asked: at, clients: [] }
    await this.write(stored)
    return stored
  }

  async read(id: string): Promise<StoredLogin | undefined> {
    const login = this.loginIn(await this.dependencies.state.get(KIND, id), id)
    return login === undefined || this.dependencies.isRevoked(login) ? undefined : login
  }

  /** Notes that a client of this name uses the sign-in. */
  async addClient(id: string, name: string): Promise<void> {
    await this.dependencies.state.locked(KIND, id, async () => {
      const login = await this.read(id)
      if (login === undefined || login.clients.includes(name)) return
      await this.write({ ...login, clients: [...login.clients, name].slice(-MOST_CLIENTS) })
    })
  }

  /** All that last. */
  async list(): Promise<readonly SignIn[]> {
    const { state } = this.dependencies
    const found: SignIn[] = []
    for (const key of await state.keysOf(KIND)) {
      const value = await state.own(KIND, key)
      const login = value && this.loginIn(value, String(value['id']))
      if (login !== undefined) found.push(signInOf(login))
    }
    return found.toSorted((one, other) => one.at - other.at)
  }

  /** Under its lock: a refresh that is under way would store it again. */
  async end(id: string): Promise<void> {
    const { state } = this.dependencies
    await state.locked(KIND, id, () => state.delete(KIND, id))
    for (const listener of this.listeners) listener(id)
  }

  private loginIn(value: JsonObject | undefined, id: string): StoredLogin | undefined {
    const { data } = StoredLogin.safeParse(value)
    // With another provider the same subject may be another person.
    return data === undefined || data.idp !== this.dependencies.provider().idp ? undefined : { ...data, id }
  }

  /**
   * Asks the provider about the person again, one request at a time for a sign-in; undefined when the person is refused
   * there or no longer admitted here. It throws when the provider does not answer. A sign-in that `isGood` is returned as it
   * is: another process may have refreshed it meanwhile.
   */
  refreshed(
    id: string,
    isGood: (login: StoredLogin) => boolean = () => false,
  ): Promise<StoredLogin | undefined> {
    const { state, provider, log } = this.dependencies
    return state.locked(KIND, id, async () => {
      const stored = await this.read(id)
      if (stored === undefined || isGood(stored)) return stored
      const login = await provider().refresh(stored)
      if (login !== 'ended' && this.admits(login)) {
        const next = { ...stored, ...login, asked: Date.now() }
        await this.write(next)
        return next
      }
      const reason = login === 'ended' ? 'the provider ended it' : 'the person is no longer admitted'
      log.info({ reason }, 'a sign-in has ended')
      await state.delete(KIND, id)
      for (const listener of this.listeners) listener(id)
      return undefined
    })
  }

  /** Calls `listener` with the ID of each sign-in that ends in this process. */
  onEnded(listener: (id: string) => void): void {
    this.listeners.push(listener)
  }

  private write({ id, idp, subject, claims, tokens, at, asked, clients }: StoredLogin): Promise<void> {
    const { state, lifetime } = this.dependencies
    const value: JsonObject = { id, idp, subject, claims, tokens, at, asked, clients }
    return state.set(KIND, id, value, lifetime)
  }
}

/** Some providers write this boolean as text. */
export const hasUnverifiedEmail = (claims: StoredLogin['claims']): boolean =>
  String(claims['email_verified']) === 'false'

/** What pages and commands call a person. */
export function nameOf({ claims, subject }: Pick<StoredLogin, 'claims' | 'subject'>): string {
  const names = ['name', 'preferred_username', 'email', 'login'].map((claim) => claims[claim])
  const found = names.find((name): name is string => typeof name === 'string' && name.trim() !== '')
  return (found ?? subject).slice(0, 100)
}

function signInOf({ id, idp, subject, claims, clients, at }: StoredLogin): SignIn {
  const { email } = claims
  const signIn = { id, idp, subject, name: nameOf({ claims, subject }), client: clients.join(', '), at }
  return typeof email === 'string' ? { ...signIn, email } : signIn
}
