import type { Identity, Log, LoginProvider, Revocation, Revoked, SignIn, Standing } from 'sallyport'
import type { Logins } from './logins.js'
import { loggedOf, type Revocations, type RevokedEntry } from './revocations.js'

interface Dependencies {
  readonly revocations: Revocations
  readonly logins: Logins
  readonly provider: () => LoginProvider
  readonly log: Log
}

/** Revokes people and their sign-ins. With a sign-in go its refresh tokens, its grants and the session of its browser. */
export class LoginRevocation implements Revocation {
  constructor(private readonly dependencies: Dependencies) {}

  standing(identity: Identity): Standing {
    return this.dependencies.revocations.standing(identity)
  }

  onRevoked(listener: () => void): () => void {
    return this.dependencies.revocations.onRevoked(listener)
  }

  signIns(): Promise<readonly SignIn[]> {
    return this.dependencies.logins.list()
  }

  async revoke(revoked: Revoked): Promise<number> {
    const { revocations, logins, provider, log } = this.dependencies
    const { idp } = provider()
    const entry: RevokedEntry = 'session' in revoked ? revoked : { idp, ...defined(revoked) }
    const isOfBroker = 'session' in entry || entry.idp === idp
    const { at } = await revocations.add(entry, isOfBroker)
    const ended = isOfBroker ? (await logins.list()).filter((signIn) => isMeant(signIn, entry, at)) : []
    for (const { id } of ended) await logins.end(id)
    log.info({ ...loggedOf(entry), signIns: ended.length }, 'revoked')
    return ended.length
  }
}

const defined = ({
  subject,
  idp,
}: Extract<Revoked, { subject: string }>): { subject: string; idp?: string } =>
  idp === undefined ? { subject } : { subject, idp }

const isMeant = ({ id, idp, subject, at }: SignIn, entry: RevokedEntry, until: number): boolean =>
  'session' in entry ? id === entry.session : idp === entry.idp && subject === entry.subject && at <= until
