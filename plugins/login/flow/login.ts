import { ResponseBodyError } from 'openid-client'
import {
  type AccountsOf,
  type BegunLogin,
  type Fetch,
  type Login,
  type LoginProvider,
  UpstreamError,
} from 'sallyport'
import { isJsonObject, type JsonObject, webUrl } from 'sallyport/toolkit'
import { z } from 'zod'
import type { CodeFlow, Redeemed } from './code-flow.js'

/** The options by which a login says who a person is. */
export const personOptions = {
  ask: z
    .array(
      z.strictObject({
        claim: z.string().min(1).describe('the claim that gets the answer'),
        url: webUrl().describe(
          "what is asked with the person's token, such as `https://api.github.com/user/teams`",
        ),
        each: z
          .string()
          .min(1)
          .optional()
          .describe('the member that counts of each entry of a list, such as `slug`'),
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
  readonly flow: CodeFlow
  readonly fetch: Fetch
  /** The claim that names a person. */
  readonly subject: string
  readonly ask: readonly Question[]
  /** Where the person is described when no ID token does it. */
  readonly describedAt: () => Promise<string | undefined>
}

/** Signs people in by the authorization code flow. */
export class CodeFlowLogin implements LoginProvider {
  readonly idp: string
  readonly name: string
  readonly accountsOf: AccountsOf

  constructor(private readonly dependencies: Dependencies) {
    const { idp, name, accountsOf } = dependencies
    this.idp = idp
    this.name = name
    this.accountsOf = accountsOf
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
    if (refresh === undefined) return this.person({ ...login.tokens }, undefined, login)
    try {
      const redeemed = await this.dependencies.flow.refresh(refresh)
      return await this.person(redeemed, redeemed.claims, login)
    } catch (error) {
      if (error instanceof ResponseBodyError && error.error === 'invalid_grant') return 'ended'
      throw error
    }
  }

  /** The claims are those of the ID token, else those that the provider answers for the access token. */
  private async person(
    {
      access,
      refresh,
      id,
      expiresAt,
    }: Pick<Redeemed, 'access' | 'refresh' | 'id'> & { expiresAt?: number | undefined },
    fromIdToken: Redeemed['claims'],
    before?: Login,
  ): Promise<Login | 'ended'> {
    const described = fromIdToken ?? (await this.described(access))
    if (described === 'ended') return 'ended'
    const claims: Record<string, unknown> = { ...(described ?? before?.claims) }
    const answers = await this.answers(access)
    if (answers === 'ended') return 'ended'
    const subject = subjectIn(claims[this.dependencies.subject])
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
      found[claim] = each === undefined ? answer : memberOfEach(answer, each)
    }
    return found
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

/** GitHub counts its users. */
function subjectIn(claim: unknown): string | undefined {
  if (typeof claim === 'number' && Number.isSafeInteger(claim)) return String(claim)
  return typeof claim === 'string' && claim !== '' ? claim : undefined
}

const memberOfEach = (answer: unknown, member: string): readonly unknown[] =>
  (Array.isArray(answer) ? answer : [answer]).flatMap((entry: unknown) =>
    isJsonObject(entry) && entry[member] !== undefined ? [entry[member]] : [],
  )
