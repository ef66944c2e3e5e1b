import { Revocation, type Revoked, type SignIn, type Standing } from '../contract/capabilities/revocation.js'
import type { Identity } from '../contract/identity.js'
import { randomName, UNUSUAL_NAMES } from './admission.js'
import { type CheckResult, type ConformanceSuite, firstFault, isText, messageOf } from './requirement.js'

const STANDINGS: readonly Standing[] = ['good', 'revoked', 'unknown']

const UNUSUAL_CLAIMS: readonly Identity['claims'][] = [
  {},
  { sid: null, idp: [], iat: '0', auth_time: {} },
  { sid: '__proto__', idp: 'constructor', iat: Number.NaN },
]

const ISSUER = 'https://conformance.invalid'

/** Whoever has a token of a provider beside the gateway. */
const holding = (subject: string, claims: Identity['claims'], issuer = ISSUER): Identity => ({
  provider: 'conformance',
  subject,
  issuer,
  claims,
})

const now = (): number => Math.floor(Date.now() / 1000)

const of = (subject: string): Revoked => ({ subject, idp: ISSUER })

export const revocationConformance: ConformanceSuite<Revocation> = {
  capability: Revocation,
  requirements: [
    {
      code: 'STANDING_MALFORMED',
      statement: 'answers at once, whatever the claims of a caller are',
      advice: 'answer "good", "revoked" or "unknown", never a promise, and throw for no claim',
      check: (revocation) =>
        firstFault(UNUSUAL_NAMES, (subject) =>
          firstFault(UNUSUAL_CLAIMS, (claims) => {
            try {
              const standing: unknown = revocation.standing(holding(subject, claims))
              return STANDINGS.some((each) => each === standing) ? undefined : 'it answers something else'
            } catch (error) {
              return `it throws: ${messageOf(error)}`
            }
          }),
        ),
    },
    {
      code: 'REVOKED_PASSES',
      statement: 'refuses a person who was revoked by every token of before, and by one without a time',
      advice:
        'compare `iat`, in seconds, with the time of the revocation; a token without one counts as older',
      async check(revocation) {
        const subject = randomName()
        await revocation.revoke(of(subject))
        return firstFault([{ iat: now() - 60 }, {}, { iat: null }], (claims) =>
          revocation.standing(holding(subject, claims)) === 'revoked'
            ? undefined
            : `a token with the time ${JSON.stringify(claims['iat'])} passes`,
        )
      },
    },
    {
      code: 'OTHERS_REVOKED',
      statement: 'refuses neither other people nor later sign-ins',
      advice: 'compare the issuer and the subject whole, and let in whoever signs in again',
      async check(revocation): Promise<CheckResult> {
        const subject = randomName()
        await revocation.revoke(of(subject))
        const claims = { iat: now() - 60 }
        const others: readonly (readonly [string, Identity])[] = [
          ['another subject', holding(`${subject}.`, claims)],
          ['the same subject of another issuer', holding(subject, claims, `${ISSUER}/`)],
          ['a later sign-in', holding(subject, { iat: now() + 60 })],
        ]
        return firstFault(others, ([who, identity]) =>
          revocation.standing(identity) === 'revoked' ? `${who} is refused` : undefined,
        )
      },
    },
    {
      code: 'REVOCATION_UNTOLD',
      statement: 'calls its listeners after each revocation, as long as they listen',
      advice: 'call each listener once the new revocation counts, and none that has ended',
      awaits: 2,
      async check(revocation) {
        const subject = randomName()
        let found: Standing | undefined
        let calls = 0
        const end = revocation.onRevoked(() => {
          calls++
          found = revocation.standing(holding(subject, { iat: now() - 60 }))
        })
        await revocation.revoke(of(subject))
        if (calls === 0) return 'it calls no listener'
        if (found !== 'revoked') return 'it calls the listener before the revocation counts'
        end()
        const before = calls
        await revocation.revoke(of(randomName()))
        return calls === before ? undefined : 'it calls a listener that has ended'
      },
    },
    {
      code: 'SIGN_INS_MALFORMED',
      statement: 'lists the sign-ins that last',
      advice:
        'answer `id`, `idp`, `subject`, `name`, `client` and the time `at` of each, and nothing when there are none',
      async check(revocation) {
        const signIns: unknown = await revocation.signIns()
        if (!Array.isArray(signIns)) return 'it answers no list'
        return signIns.every(isSignIn) ? undefined : 'a sign-in lacks a member'
      },
    },
  ],
}

const isSignIn = (signIn: SignIn): boolean =>
  [signIn?.id, signIn?.idp, signIn?.subject, signIn?.name].every(isText) &&
  typeof signIn.client === 'string' &&
  Number.isFinite(signIn.at)
