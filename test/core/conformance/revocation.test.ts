import { type Identity, Revocation, type Revoked, type SignIn, type Standing } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'
import { providing } from '#kit/plugin.js'

interface Rules {
  readonly nameOf?: (issuer: string | undefined, subject: string) => string
  readonly isBefore?: (claims: Identity['claims'], at: number) => boolean
  readonly isToldFirst?: boolean
  readonly keepsListeners?: boolean
  readonly signIns?: unknown
}

const NAME = (issuer: string | undefined, subject: string): string => JSON.stringify([issuer, subject])

/** Keeps what is revoked in memory. */
class Table implements Revocation {
  private readonly revoked = new Map<string, number>()
  private readonly listeners = new Set<() => void>()

  constructor(private readonly rules: Rules = {}) {}

  standing({ issuer, subject, claims }: Identity): Standing {
    const { nameOf = NAME, isBefore = isOlder } = this.rules
    const at = this.revoked.get(nameOf(issuer, subject))
    return at !== undefined && isBefore(claims, at) ? 'revoked' : 'good'
  }

  onRevoked(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => void (this.rules.keepsListeners === true || this.listeners.delete(listener))
  }

  async signIns(): Promise<readonly SignIn[]> {
    return (this.rules.signIns ?? []) as readonly SignIn[]
  }

  async revoke(revoked: Revoked): Promise<number> {
    const { nameOf = NAME, isToldFirst = false } = this.rules
    if (isToldFirst) for (const listener of this.listeners) listener()
    if ('subject' in revoked) this.revoked.set(nameOf(revoked.idp, revoked.subject), Date.now())
    if (!isToldFirst) for (const listener of this.listeners) listener()
    return 0
  }
}

const isOlder = ({ iat }: Identity['claims'], at: number): boolean =>
  typeof iat !== 'number' || iat * 1000 <= at

contractSuite('a table of revoked people', () => ({
  list: [providing('table', Revocation, new Table())],
}))

findsFaults(Revocation, {
  'a revocation that answers a promise': {
    code: 'STANDING_MALFORMED',
    make: () => {
      const table = new Table()
      const isUnusual = ({ claims }: Identity) => claims['sid'] !== undefined
      const standing = table.standing.bind(table)
      return Object.assign(table, {
        standing: (identity: Identity) =>
          isUnusual(identity) ? Promise.resolve('good') : standing(identity),
      })
    },
  },
  'a token without a time passes': {
    code: 'REVOKED_PASSES',
    make: () => new Table({ isBefore: ({ iat }, at) => typeof iat === 'number' && iat * 1000 <= at }),
  },
  'people of all issuers at once': {
    code: 'OTHERS_REVOKED',
    make: () => new Table({ nameOf: (_issuer, subject) => subject }),
  },
  'later sign-ins too': { code: 'OTHERS_REVOKED', make: () => new Table({ isBefore: () => true }) },
  'telling before it counts': { code: 'REVOCATION_UNTOLD', make: () => new Table({ isToldFirst: true }) },
  'telling who listens no more': {
    code: 'REVOCATION_UNTOLD',
    make: () => new Table({ keepsListeners: true }),
  },
  'a sign-in without a person': {
    code: 'SIGN_INS_MALFORMED',
    make: () => new Table({ signIns: [{ id: 'a', client: '', at: 1 }] }),
  },
})
