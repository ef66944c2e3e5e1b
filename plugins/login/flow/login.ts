import { ResponseBodyError } from 'openid-client'
import {
  type AccountsOf,
  type BegunLogin,
  type Fetch,
  type Log,
  type Login,
  type LoginProvider,
  type LoginTokens,
  UpstreamError,
} from 'sallyport'
import { isJsonObject, type JsonObject, plainWords, webUrl } from 'sallyport/toolkit'
import { z } from 'zod'
import type { CodeFlow, Redeemed } from './code-flow.js'

/** The options by which a login says who a person is. */
export const personOptions = {
  ask: z
    .array(
      z.strictObject({
        claim: z.string().min(1).describe('the claim that gets the answer'),
        url: webUrl().describe(
          "the URL to request with the person's token, such as `https://api.github.com/user/teams`",
        ),
        each: z
          .string()
          .min(1)
          .optional()
          .describe(
            'the member to take of each entry of a list, such as `html_url`; a dot leads to a member of a member, such as `value.id`',
          ),
      }),
    )
    .default([])
    .describe('further claims, requested at each sign-in and each refresh'),
  authorizeParams: z
    .record(z.string().min(1), z.string())
    .default({})
    .describe('further parameters of the authorization request, such as `{ prompt: select_account }`'),
}

type Question = z.output<typeof personOptions.ask>[number]

interface Dependencies {
  readonly idp: string
  readonly name: string
  readonly accountsOf: AccountsOf
  readonly requiredClaim?: string | undefined
  readonly flow: CodeFlow
  readonly fetch: Fetch
  /** The claim that names a person. */
  readonly subject: string
  readonly ask: readonly Question[]
  /** Where the person is described when no ID token does it. */
  readonly describedAt: () => Promise<string | undefined>
  readonly log: Log
}

// The second is GitHub's.
const ENDED: ReadonlySet<string> = new Set(['invalid_grant', 'bad_refresh_token'])

/** Signs people in by the authorization code flow. */
export class CodeFlowLogin implements LoginProvider {
  readonly idp: string
  readonly name: string
  readonly accountsOf: AccountsOf
  readonly requiredClaim?: string | undefined
  private readonly reported = new Set<string>()

  constructor(private readonly dependencies: Dependencies) {
    const { idp, name, accountsOf, requiredClaim } = dependencies
    this.idp = idp
    this.name = name
    this.accountsOf = accountsOf
    this.requiredClaim = requiredClaim
  }

  begin(redirectUri: string): Promise<BegunLogin> {
    return this.dependencies.flow.begin(redirectUri)
  }

  async finish(query: string, checks: string, redirectUri: string): Promise<Login> {
    const redeemed = await this.dependencies.flow.redeem(query, checks, redirectUri)
    const login = await this.person(redeemed, redeemed.claims)
    if (login !== 'ended') return login
    throw new UpstreamError('SIGN_IN_REFUSED', `${this.name} refuses the token that it just gave`)
  }

  async refresh(login: Login): Promise<Login | 'ended'> {
    const { refresh } = login.tokens
    if (refresh === undefined) {
      const { describedAt, ask } = this.dependencies
      // Without a request to the provider, a person whom the provider removed would stay signed in.
      if (ask.length === 0 && (await describedAt()) === undefined) return 'ended'
      return this.person({ ...login.tokens }, undefined, login)
    }
    try {
      const redeemed = await this.dependencies.flow.refresh(refresh)
      return await this.person(redeemed, redeemed.claims, login)
    } catch (error) {
      if (error instanceof ResponseBodyError && ENDED.has(error.error)) return 'ended'
      throw error
    }
  }

  /** The claims are those of the ID token, else those that the provider answers for the access token. */
  private async person(
    { access, refresh, id, expiresAt }: LoginTokens,
    fromIdToken: Redeemed['claims'],
    before?: Login,
  ): Promise<Login | 'ended'> {
    const described = fromIdToken ?? (await this.described(access))
    if (described === 'ended') return 'ended'
    const claims: Record<string, unknown> = { ...(described ?? before?.claims) }
    this.reportLeftOut(claims)
    const answers = await this.answers(access)
    if (answers === 'ended') return 'ended'
    const subject = subjectIn(this.dependencies.subject, claims)
    if (subject === undefined) throw this.unnamed()
    // OpenID Connect, 12.2: a refresh never changes who the person is.
    if (before !== undefined && before.subject !== subject) return 'ended'
    return {
      subject,
      claims: { ...claims, ...answers },
      tokens: { access, refresh, id: id ?? before?.tokens.id, expiresAt },
    }
  }

  private async described(access: string): Promise<JsonObject | undefined | 'ended'> {
    const url = await this.dependencies.describedAt()
    if (url === undefined) return undefined
    const answer = await this.asked(url, access)
    if (answer === 'ended' || isJsonObject(answer)) return answer
    throw this.unreadable(url)
  }

  private async answers(access: string): Promise<JsonObject | 'ended'> {
    const found: Record<string, unknown> = {}
    for (const { claim, url, each } of this.dependencies.ask) {
      const answer = await this.asked(url, access)
      if (answer === 'ended') return 'ended'
      found[claim] = each === undefined ? answer : membersAt(answer, each.split('.'))
    }
    return found
  }

  /** OpenID Connect, 5.6.2: Entra ID leaves the groups out of the ID token of a person with many groups. */
  private reportLeftOut(claims: JsonObject): void {
    const { ask, log } = this.dependencies
    const names = isJsonObject(claims['_claim_names']) ? Object.keys(claims['_claim_names']) : []
    for (const name of names) {
      if (this.reported.has(name) || ask.some(({ claim }) => claim === name)) continue
      this.reported.add(name)
      const message = `${this.name} left the claim ${plainWords(name)} of a person out of the ID token, so no rule can match it: name it in \`ask\`, with the URL that gives it`
      log.warn({ claim: plainWords(name) }, message)
    }
  }

  /** `ended` when the provider no longer takes the token; everything else that is no answer throws. */
  private async asked(url: string, access: string): Promise<unknown> {
    const response = await this.dependencies.fetch(url, {
      headers: { authorization: `Bearer ${access}`, accept: 'application/json' },
    })
    if (response.status === 401) return 'ended'
    if (response.status !== 200)
      throw new UpstreamError('SIGN_IN_UNAVAILABLE', `${new URL(url).origin} responded ${response.status}`)
    try {
      return await response.json()
    } catch {
      throw this.unreadable(url)
    }
  }

  private unnamed(): UpstreamError {
    const { subject } = this.dependencies
    return new UpstreamError(
      'SIGN_IN_UNSUPPORTED',
      `${this.name} gives no claim ${subject}, which has to name a person`,
    )
  }

  private readonly unreadable = (url: string): UpstreamError =>
    new UpstreamError('SIGN_IN_UNSUPPORTED', `the response of ${new URL(url).origin} describes nobody`)
}

/** GitHub counts its users. An e-mail address that is not verified names nobody: everybody can write it. */
function subjectIn(name: string, claims: JsonObject): string | undefined {
  const claim = claims[name]
  if (name === 'email' && String(claims['email_verified']) === 'false') return undefined
  if (typeof claim === 'number' && Number.isSafeInteger(claim)) return String(claim)
  return typeof claim === 'string' && claim !== '' ? claim : undefined
}

/** The values at a path of members; a list on the path stands for each of its entries. */
function membersAt(value: unknown, path: readonly string[]): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap((entry: unknown) => membersAt(entry, path))
  const [name, ...rest] = path
  if (name === undefined) return value === undefined ? [] : [value]
  return isJsonObject(value) && Object.hasOwn(value, name) ? membersAt(value[name], rest) : []
}
