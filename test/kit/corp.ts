import { Authenticator, type Identity } from 'sallyport'
import { providing } from './plugin.js'

/** Accepts every bearer token; by default the token itself is the subject. */
export const corp = (identify: (token: string) => Partial<Identity> = (subject) => ({ subject })) =>
  providing('corp', Authenticator, {
    provider: 'corp',
    authenticate: ({ credentials }) =>
      credentials.kind === 'bearer'
        ? { identity: { provider: 'corp', subject: '', claims: {}, ...identify(credentials.token) } }
        : { rejection: { kind: 'notMine', cause: 'none' } },
  })
