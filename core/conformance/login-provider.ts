import { randomBytes } from 'node:crypto'
import { type BegunLogin, type Login, LoginProvider } from '../contract/capabilities/login-provider.js'
import { GatewayError } from '../contract/errors.js'
import { isInsecure } from '../egress/url-rules.js'
import {
  type CheckResult,
  type ConformanceContext,
  type ConformanceSuite,
  firstFault,
  Inconclusive,
  isObject,
  isText,
  messageOf,
} from './requirement.js'

const REDIRECT_URI = 'https://gateway.invalid/oauth/callback'
// RFC 6749, 10.10: a guess must be right with a probability of 2^-128 at most, and a character has 6 bits or so.
const SHORTEST_STATE = 16

const madeUp = (): string => randomBytes(24).toString('base64url')

/** A sign-in that the provider begins, or the reason why the test cannot begin one. */
async function begun(
  provider: LoginProvider,
  redirectUri = REDIRECT_URI,
): Promise<BegunLogin | Inconclusive> {
  try {
    return await provider.begin(redirectUri)
  } catch (error) {
    if (error instanceof GatewayError)
      return new Inconclusive(`no sign-in can be begun here: ${messageOf(error)}`)
    throw error
  }
}

/** The same, and undefined for a malformed sign-in, which another requirement reports. */
const begunIfAny = async (provider: LoginProvider, redirectUri?: string): Promise<BegunLogin | undefined> => {
  const found: unknown = await begun(provider, redirectUri).catch(() => undefined)
  if (!isObject(found) || found instanceof Inconclusive) return undefined
  return isText(found['state']) && isText(found['checks']) ? (found as unknown as BegunLogin) : undefined
}

function faultOfBegun(found: unknown): string | undefined {
  if (!isObject(found)) return '`begin` gives no sign-in'
  const { url, state, checks } = found
  if (!isText(url) || !URL.canParse(url)) return 'its `url` is no URL'
  const { protocol, searchParams } = new URL(url)
  if (!/^https?:$/.test(protocol) || isInsecure(new URL(url)))
    return `its \`url\` begins with ${protocol}// and is not on loopback`
  if (!isText(state)) return 'its `state` is empty, or no text'
  if (!isText(checks)) return 'its `checks` are empty, or no text'
  const sent = searchParams.get('state')
  return sent === null || sent === state ? undefined : 'the `state` in its `url` is another one'
}

/** Whether a sign-in ends with a person. */
const endsWithPerson = async (
  provider: LoginProvider,
  query: string,
  checks: string,
  redirectUri = REDIRECT_URI,
): Promise<boolean> => {
  try {
    await provider.finish(query, checks, redirectUri)
    return true
  } catch {
    return false
  }
}

/** Queries that no provider sends, each with checks and the fault that the report names. */
function forgeries(one: BegunLogin | undefined, other: BegunLogin | undefined) {
  const answer = (state: string): string => `?${new URLSearchParams({ code: madeUp(), state })}`
  const alone = ['', 'x', '{}', 'null', '[]', '{"state":"x"}'].map((checks) => ({
    what: 'checks that it did not make',
    query: answer('x'),
    checks,
  }))
  if (one === undefined || other === undefined) return alone
  return [
    ...alone,
    { what: 'an empty query', query: '', checks: one.checks },
    { what: 'an empty query', query: '?', checks: one.checks },
    { what: 'a query that holds its state alone', query: `?state=${one.state}`, checks: one.checks },
    { what: 'a made-up code', query: answer(one.state), checks: one.checks },
    { what: 'another state', query: answer(madeUp()), checks: one.checks },
    { what: 'the checks of another sign-in', query: answer(one.state), checks: other.checks },
    { what: 'a denial', query: `?error=access_denied&state=${one.state}`, checks: one.checks },
  ]
}

/** Logins with tokens that no provider issued. */
function inventedLogins(): readonly Login[] {
  const [access, refresh] = [madeUp(), madeUp()]
  const unsigned = Buffer.from('{"sub":"nobody"}').toString('base64url')
  const tokens: readonly Login['tokens'][] = [
    { access },
    { access, expiresAt: Date.now() + 3_600_000 },
    { access, refresh },
    { access, refresh, id: `eyJhbGciOiJub25lIn0.${unsigned}.` },
  ]
  return tokens.map((each) => ({
    subject: 'nobody',
    claims: { sub: 'nobody', id: 'nobody', oid: 'nobody' },
    tokens: each,
  }))
}

export const loginProviderConformance: ConformanceSuite<LoginProvider> = {
  capability: LoginProvider,
  requirements: [
    {
      code: 'LOGIN_UNNAMED',
      statement: 'names the provider, always the same, and says whose accounts it has',
      advice:
        "set `idp` and `name` once, and `accountsOf` to 'everybody' where every person can get an account: the gateway stores people by `idp`",
      check(provider) {
        const { idp, name, accountsOf } = provider
        if (!isText(idp)) return '`idp` is empty, or no text'
        if (!isText(name)) return '`name` is empty, or no text'
        if (provider.idp !== idp || provider.name !== name) return '`idp` or `name` changes'
        return accountsOf === 'organisation' || accountsOf === 'everybody'
          ? undefined
          : `\`accountsOf\` is neither organisation nor everybody: ${accountsOf}`
      },
    },
    {
      code: 'SIGN_IN_MALFORMED',
      statement: 'begins a sign-in with a page by https or on loopback, a state and checks',
      advice: 'give { url, state, checks }, all of them text, with the same `state` in the `url`',
      async check(provider) {
        const found = await begun(provider)
        return found instanceof Inconclusive ? found : faultOfBegun(found)
      },
    },
    {
      code: 'STATE_GUESSABLE',
      statement: 'gives each sign-in a state that differs and that an attacker cannot guess',
      advice: `make \`state\` of 16 random bytes or more for each sign-in: else a person is signed in as another`,
      awaits: 3,
      async check(provider) {
        const states = new Set<string>()
        for (let count = 1; count <= 3; count++) {
          const found = await begunIfAny(provider)
          if (found === undefined) return undefined
          if (found.state.length < SHORTEST_STATE) return `a state has ${found.state.length} characters`
          states.add(found.state)
          if (states.size < count) return 'two sign-ins have the same state'
        }
        return undefined
      },
    },
    {
      code: 'LOGIN_FORGED',
      statement: 'ends a sign-in only for a response of its provider',
      advice:
        'throw before anything of the query is used: compare its `state` with `checks`, then ask the provider',
      awaits: 15,
      async check(provider) {
        const [one, other] = [await begunIfAny(provider), await begunIfAny(provider)]
        return firstFault(forgeries(one, other), async ({ what, query, checks }) =>
          (await endsWithPerson(provider, query, checks)) ? `it ends a sign-in for ${what}` : undefined,
        )
      },
    },
    {
      code: 'LOGIN_INVENTED',
      statement: 'refreshes no login with tokens that its provider did not issue',
      advice: "ask the provider at each `refresh`, and answer 'ended' when it refuses the tokens",
      awaits: 4,
      check: (provider) =>
        firstFault(inventedLogins(), async (login) => {
          const found = await provider.refresh(login).catch(() => 'ended')
          return found === 'ended' ? undefined : 'it refreshes a login with tokens that are made up'
        }),
    },
    {
      code: 'LOGIN_MALFORMED',
      statement: 'ends a sign-in with a person, and refreshes the login of the same person',
      advice: 'give { subject, claims, tokens: { access } }; a `refresh` keeps the `subject`',
      awaits: 4,
      check: signedIn,
    },
    {
      code: 'LOGIN_MIXED_UP',
      statement: 'ends a sign-in only with its own checks',
      advice:
        'bind the answer to `checks` by the `state`, and by PKCE or a nonce: else an answer can be put into another browser',
      awaits: 6,
      check: mixedUp,
    },
  ],
}

async function signedIn(provider: LoginProvider, { fixtures }: ConformanceContext): Promise<CheckResult> {
  const { person } = fixtures
  if (person === undefined) return undefined
  const begun = await provider.begin(person.redirectUri)
  const login: unknown = await provider.finish(
    await person.signIn(begun.url),
    begun.checks,
    person.redirectUri,
  )
  if (!isObject(login) || !isText(login['subject'])) return 'the person has no `subject`'
  const { subject, claims, tokens } = login
  if (!isObject(claims)) return 'the person has no `claims`, not even an empty object'
  if (!isObject(tokens) || !isText(tokens['access'])) return 'the person has no `tokens.access`'
  const later = await provider.refresh(login as unknown as Login)
  if (later === 'ended') return 'it ends a login that has just begun'
  return later.subject === subject ? undefined : 'a refresh makes another person of it'
}

async function mixedUp(provider: LoginProvider, { fixtures }: ConformanceContext): Promise<CheckResult> {
  const { person } = fixtures
  if (person === undefined) return undefined
  const { redirectUri } = person
  const [one, other] = [await begunIfAny(provider, redirectUri), await begunIfAny(provider, redirectUri)]
  if (one === undefined || other === undefined) return undefined
  const query = await person.signIn(one.url)
  if (await endsWithPerson(provider, query, other.checks, redirectUri))
    return 'it ends a sign-in with the checks of another one'
  const injected = query.replaceAll(encodeURIComponent(one.state), encodeURIComponent(other.state))
  if (injected !== query && (await endsWithPerson(provider, injected, other.checks, redirectUri)))
    return 'it ends a sign-in with an answer to another one, under a changed `state`'
  return undefined
}
