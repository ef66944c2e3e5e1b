import { decodeJwt } from 'jose/jwt/decode'
import { type HeldTokens, type Identity, type LoginProvider, Refusal, UpstreamError } from 'sallyport'
import { ConcurrencyLimit, digestOf, ExpiringMap } from 'sallyport/toolkit'
import { failureOf } from '#plugins/login/flow/failures.js'
import type { Logins, StoredLogin } from './logins.js'

type Wanted = 'access' | 'id'

interface Dependencies {
  readonly issuer: string
  readonly logins: Logins
  readonly provider: () => LoginProvider
}

/** The tokens of a sign-in, in this process. */
interface Kept {
  readonly person: Person
  /** Undefined when the token has expired, and the provider gives no new one without a new sign-in. */
  readonly tokens: HeldTokens | undefined
  /** When the latest access token of ours was issued that has asked for them, in seconds since the epoch. */
  readonly issuedAt: number
}

type Person = Pick<StoredLogin, 'idp' | 'subject'>

const CAPACITY = 10_000
// As long as a sign-in that ended in another process may still serve calls here.
const MAX_AGE = 300_000
const SKEW = 30_000
const RETRY_AFTER = 5

/** What the provider gave for the callers of the broker. While a token is good, only the first call with it waits. */
export class SignedInTokens {
  private readonly kept = {
    access: new ExpiringMap<Kept>(CAPACITY),
    id: new ExpiringMap<Kept>(CAPACITY),
  }
  private readonly loading = new Map<string, Promise<Kept>>()
  // The provider may be slow, and a person may have many sign-ins.
  private readonly limit = new ConcurrencyLimit()

  constructor(private readonly dependencies: Dependencies) {
    dependencies.logins.onEnded((id) => {
      this.kept.access.delete(id)
      this.kept.id.delete(id)
    })
  }

  /** A promise only when the state store, and perhaps the provider, is asked. */
  for(
    caller: Identity,
    name: string,
    wanted: Wanted = 'access',
  ): HeldTokens | undefined | Promise<HeldTokens | undefined> {
    if (name !== 'login' || caller.issuer !== this.dependencies.issuer) return undefined
    const { sid, iat } = caller.claims
    if (typeof sid !== 'string' || typeof iat !== 'number') throw ended('no sign-in')
    const kept = this.kept[wanted].get(sid)
    // A newer access token of ours came with a refresh at the provider, after which the old token may be refused.
    if (kept !== undefined && kept.issuedAt >= iat) return tokensFor(caller, kept)
    return this.loaded(sid, iat, wanted).then((found) => tokensFor(caller, found))
  }

  private loaded(id: string, issuedAt: number, wanted: Wanted): Promise<Kept> {
    const key = `${wanted} ${id}`
    const begun = this.loading.get(key)
    if (begun !== undefined) return begun
    const loading = this.load(id, issuedAt, wanted).finally(() => this.loading.delete(key))
    this.loading.set(key, loading)
    return loading
  }

  private async load(id: string, issuedAt: number, wanted: Wanted): Promise<Kept> {
    const isGood = (login: StoredLogin): boolean => left(login, wanted) > SKEW
    const login = await this.current(id, isGood)
    if (login === undefined) throw ended('it has ended')
    const remaining = left(login, wanted)
    const { issuer } = this.dependencies
    const { idp, subject, tokens } = login
    const kept: Kept = {
      person: { idp, subject },
      tokens:
        remaining <= 0
          ? undefined
          : {
              access: tokens.access,
              id: tokens.id,
              expiresAt: expiryOf(login, wanted),
              holder: digestOf(JSON.stringify([issuer, idp, subject, id])),
            },
      issuedAt,
    }
    // A short lifetime is kept by half rather than not at all. That there is no new token is not asked at each call.
    const lasts = remaining <= 0 ? SKEW : remaining - Math.min(SKEW, remaining / 2)
    this.kept[wanted].set(id, kept, Date.now() + Math.min(lasts, MAX_AGE))
    return kept
  }

  private async current(
    id: string,
    isGood: (login: StoredLogin) => boolean,
  ): Promise<StoredLogin | undefined> {
    const { logins } = this.dependencies
    const login = await this.answered(logins.read(id))
    if (login === undefined || isGood(login)) return login
    const release = await this.limit.acquire(login.subject)
    if (release === undefined) throw unavailable('too many sign-ins are being refreshed already')
    try {
      return await this.answered(logins.refreshed(id, isGood))
    } finally {
      release()
    }
  }

  private async answered<T>(asked: Promise<T>): Promise<T> {
    try {
      return await asked
    } catch (error) {
      const { code, sentence, cause = '' } = failureOf(error, this.dependencies.provider().name)
      // The error itself may hold a response with tokens.
      throw unavailable(`${code}: ${sentence}${cause && `: ${cause}`}`)
    }
  }
}

/** The ID of a sign-in alone proves nothing: subject and provider have to be those of the person who signed in. */
function tokensFor({ subject, claims }: Identity, { person, tokens }: Kept): HeldTokens {
  if (subject !== person.subject || claims['idp'] !== person.idp) throw ended('another person')
  if (tokens === undefined) throw ended('the token of the provider has expired, and there is no new one')
  return tokens
}

const ended = (cause: string): Refusal =>
  new Refusal(401, 'INVALID_TOKEN', 'this sign-in has ended: sign in again', {
    reasons: [{ provider: 'broker', cause: 'sign-in', detail: cause }],
  })

const unavailable = (cause: string): UpstreamError =>
  new UpstreamError(
    'SIGN_IN_UNAVAILABLE',
    'what the identity provider gave for the caller cannot be refreshed right now',
    { statusCode: 503, retryAfter: RETRY_AFTER, cause: new Error(cause) },
  )

const left = (login: StoredLogin, wanted: Wanted): number =>
  (expiryOf(login, wanted) ?? Number.POSITIVE_INFINITY) - Date.now()

function expiryOf({ tokens: { id, expiresAt } }: StoredLogin, wanted: Wanted): number | undefined {
  if (wanted === 'access' || id === undefined) return wanted === 'access' ? expiresAt : undefined
  try {
    // It was verified when it came.
    const { exp } = decodeJwt(id)
    return exp === undefined ? undefined : exp * 1000
  } catch {
    return undefined
  }
}
