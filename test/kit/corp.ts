import { Authenticator, type Identity } from 'sallyport'
import { providing } from './plugin.js'

/** Lets in whoever brings a token: as its subject, or as the one whom it is said to be for. */
export const corp = (identify: (token: string) => Partial<Identity> = (subject) => ({ subject })) =>
  providing('corp', Authenticator, {
    provider: 'corp',
    authenticate: ({ credentials }) =>
      credentials.kind === 'bearer'
        ? { identity: { provider: 'corp', subject: '', claims: {}, ...identify(credentials.token) } }
        : { rejection: { kind: 'notMine', cause: 'none' } },
  })
