import { CallerTokens } from '../contract/capabilities/caller-tokens.js'
import { GatewayError } from '../contract/errors.js'
import type { Identity } from '../contract/identity.js'
import { randomName, UNUSUAL_NAMES } from './admission.js'
import {
  type CheckResult,
  type ConformanceSuite,
  firstFault,
  isObject,
  isText,
  messageOf,
} from './requirement.js'

const LOGIN = 'login'
const WANTED = [undefined, 'access', 'id'] as const

/** Identities of callers of other providers, and of callers that do not exist. */
const MADE_UP: readonly Identity[] = [randomName(), ...UNUSUAL_NAMES].flatMap((text) => [
  { provider: 'conformance', subject: text, claims: {} },
  { provider: text, subject: text, issuer: text, claims: { iss: text, sub: text, sid: text, idp: text } },
  { provider: 'broker', subject: text, claims: { sub: text, sid: [text], idp: { [text]: text } } },
])

/** What is held of the caller, and nothing where an error says that nothing is. */
async function heldOf(
  tokens: CallerTokens,
  caller: Identity,
  name = LOGIN,
  wanted?: 'access' | 'id',
): Promise<unknown> {
  try {
    return await tokens(caller, name, wanted)
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}

const nothingFor = (
  tokens: CallerTokens,
  callers: readonly Identity[],
  name: string,
  fault: string,
): Promise<CheckResult> =>
  firstFault(callers, (caller) =>
    firstFault(WANTED, async (wanted) => {
      const held = await heldOf(tokens, caller, name, wanted).catch(() => undefined)
      return held === undefined ? undefined : fault
    }),
  )

/** The caller as it is, but for the person. */
const othersThan = ({ claims, ...caller }: Identity): readonly Identity[] => {
  const other = randomName()
  return [
    { ...caller, subject: other, claims: { ...claims, sub: other } },
    { ...caller, subject: other, claims },
    { ...caller, claims: { ...claims, idp: `https://${other}.invalid` } },
    { ...caller, issuer: `https://${other}.invalid`, claims: { ...claims, iss: `https://${other}.invalid` } },
  ]
}

function malformed(held: unknown): string | undefined {
  if (!isObject(held)) return 'it holds nothing of the caller'
  const { access, id, holder, expiresAt } = held
  if (!isText(access)) return 'it holds no access token'
  if (id !== undefined && !isText(id)) return 'its ID token is no text'
  if (!isText(holder)) return '`holder` is empty, or no text'
  if (holder.includes(access)) return '`holder` holds the token'
  // Seconds of the year 5138; milliseconds since 1973.
  const inMilliseconds = expiresAt === undefined || (typeof expiresAt === 'number' && expiresAt >= 1e11)
  return inMilliseconds ? undefined : '`expiresAt` is in milliseconds since the epoch, not in seconds'
}

export const callerTokensConformance: ConformanceSuite<CallerTokens> = {
  capability: CallerTokens,
  requirements: [
    {
      code: 'CALLER_MADE_UP',
      statement: 'has no tokens of a caller that it does not know',
      advice:
        'answer undefined unless the identity names a sign-in that is stored here, and compare its types first',
      awaits: MADE_UP.length * WANTED.length,
      check: (tokens) => nothingFor(tokens, MADE_UP, LOGIN, 'it has tokens of a caller that does not exist'),
    },
    {
      code: 'CALLER_TOKENS_THROW',
      statement: 'answers for every caller, or says on purpose why there are no tokens',
      advice: 'throw a Refusal or an UpstreamError with a code: callers get these, and nothing else',
      awaits: MADE_UP.length,
      check: (tokens) =>
        firstFault(MADE_UP, async (caller) => {
          try {
            await heldOf(tokens, caller)
            return undefined
          } catch (error) {
            return `it throws: ${messageOf(error)}`
          }
        }),
    },
    {
      code: 'CALLER_FOREIGN',
      statement: 'has no tokens of a person for another one who names the same sign-in',
      advice: 'compare subject, provider and issuer of the identity with what was stored at the sign-in',
      awaits: 4 * WANTED.length,
      check: (tokens, { fixtures: { caller } }) =>
        caller && nothingFor(tokens, othersThan(caller), LOGIN, 'it has the tokens of another person'),
    },
    {
      code: 'TOKENS_UNNAMED',
      statement: 'has nothing by a name that it does not know',
      advice: 'answer undefined for every name but your own',
      awaits: (UNUSUAL_NAMES.length + 1) * WANTED.length,
      check: (tokens, { fixtures: { caller } }) =>
        caller &&
        firstFault([randomName(), ...UNUSUAL_NAMES], (name) =>
          nothingFor(tokens, [caller], name, `it has tokens by the name ${JSON.stringify(name)}`),
        ),
    },
    {
      code: 'TOKENS_MALFORMED',
      statement: 'has the tokens of a caller that it knows, and when they expire',
      advice: 'answer { access, holder }, with `id` and `expiresAt` where they are known',
      awaits: WANTED.length,
      check: (tokens, { fixtures: { caller } }) =>
        caller && firstFault(WANTED, async (wanted) => malformed(await tokens(caller, LOGIN, wanted))),
    },
    {
      code: 'HOLDER_UNSTABLE',
      statement: 'knows the same caller again',
      advice: 'make `holder` of the person and the sign-in, and of nothing that changes with each token',
      awaits: 2,
      async check(tokens, { fixtures: { caller } }) {
        if (caller === undefined) return undefined
        const [first, second] = [await tokens(caller, LOGIN), await tokens({ ...caller }, LOGIN)]
        return first?.holder === second?.holder ? undefined : 'the same caller has two holders'
      },
    },
  ],
}
