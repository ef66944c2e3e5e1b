import { Authenticator, BearerToken, Guard, Refusal } from 'sallyport'
import { amongStrangers, type Contract, isObject, leavesRequestsAlone, messageOf } from './contract.js'

export const guardContract: Contract<Guard> = {
  capability: Guard,
  clauses: [
    {
      code: 'GUARD_THROWS',
      asks: 'lets every request pass or refuses it, whatever it looks like',
      advice: 'a guard returns to let a request pass, or throws a Refusal; anything else shuts everybody out',
      look: (guard, place) =>
        amongStrangers(place, async (request) => {
          try {
            await guard(request)
            return undefined
          } catch (error) {
            if (error instanceof Refusal) return undefined
            return `on ${request.method} ${request.url.slice(0, 40)} it throws: ${messageOf(error)}`
          }
        }),
    },
    leavesRequestsAlone((guard, request) => guard(request)),
  ],
}

const KINDS = ['notMine', 'invalid', 'unavailable']

/** What is wrong with an answer of an authenticator, whatever it says. */
function malformed(verdict: unknown): string | undefined {
  if (!isObject(verdict)) return 'its answer is no verdict'
  const { identity, rejection } = verdict
  if (identity !== undefined && rejection !== undefined) return 'it accepts and rejects at once'
  if (isObject(identity)) {
    if (typeof identity['subject'] !== 'string' || identity['subject'] === '')
      return 'its identity has no subject'
    return isObject(identity['claims']) ? undefined : 'its identity has no claims, not even an empty object'
  }
  if (!isObject(rejection)) return 'its answer is no verdict'
  if (!KINDS.includes(String(rejection['kind'])))
    return `the kind of its rejection is none of ${KINDS.join(', ')}`
  return typeof rejection['cause'] === 'string' ? undefined : 'its rejection names no cause'
}

export const authenticatorContract: Contract<Authenticator> = {
  capability: Authenticator,
  clauses: [
    {
      code: 'AUTHENTICATOR_THROWS',
      asks: 'answers every request and throws for none',
      advice: 'answer { rejection } for bad credentials, so that the next one in the list can still accept',
      look: (authenticator, place) =>
        amongStrangers(place, async (request) => {
          try {
            await authenticator.authenticate(request)
            return undefined
          } catch (error) {
            return `it throws: ${messageOf(error)}`
          }
        }),
    },
    {
      code: 'VERDICT_MALFORMED',
      asks: 'answers with a verdict',
      advice: 'answer { identity: { provider, subject, claims } } or { rejection: { kind, cause } }',
      look: (authenticator, place) =>
        amongStrangers(place, async (request) =>
          malformed(await quietly(() => authenticator.authenticate(request))),
        ),
    },
    {
      code: 'AUTHENTICATOR_LAX',
      asks: 'accepts nobody without a token that was issued',
      advice: 'answer { rejection } unless the token was verified',
      look: (authenticator, place) =>
        amongStrangers(place, async (request) => {
          const verdict = await quietly(() => authenticator.authenticate(request))
          if (!isObject(verdict) || verdict['identity'] === undefined) return undefined
          const who =
            request.credentials.kind === 'bearer' ? 'a token that nobody issued' : 'a request without a token'
          return `${who} is accepted`
        }),
    },
    {
      code: 'REJECTION_TELLS',
      asks: 'keeps tokens out of what is logged',
      advice: 'name a class in `cause`, such as "signature", and no part of the token in `detail`',
      look: (authenticator, place) =>
        amongStrangers(place, async (request) => {
          const { credentials } = request
          const verdict = await quietly(() => authenticator.authenticate(request))
          if (credentials.kind !== 'bearer' || credentials.token.length < 8 || !isObject(verdict))
            return undefined
          const told = JSON.stringify(verdict['rejection'] ?? '')
          return told.includes(credentials.token) ? 'its rejection repeats the token' : undefined
        }),
    },
    leavesRequestsAlone((authenticator, request) => authenticator.authenticate(request)),
    {
      code: 'TOKEN_REFUSED',
      asks: 'accepts a token that is good',
      advice: 'compare `facts.token` with the options that the plugin was given',
      async look(authenticator, place) {
        const { token } = place.facts
        if (token === undefined) return undefined
        let fault: string | undefined
        await place.caller(async (request) => {
          request.credentials = new BearerToken(token)
          const verdict: unknown = await authenticator.authenticate(request)
          fault =
            isObject(verdict) && 'identity' in verdict ? malformed(verdict) : 'the good token is refused'
        })
        return fault
      },
    },
  ],
}

/** Another clause says so when it throws. */
const quietly = async (ask: () => unknown): Promise<unknown> => {
  try {
    return await ask()
  } catch {
    return { rejection: { kind: 'invalid', cause: 'threw' } }
  }
}
