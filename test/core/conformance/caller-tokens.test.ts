import { decodeJwt } from 'jose'
import { CallerTokens, type HeldTokens, type Identity } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'
import { folder } from '#kit/folder.js'
import { brokered, HandClient } from '../../plugins/issuer/brokered.js'

contractSuite('issuer/broker', async (t) => {
  const state = { use: 'state/sqlite', with: { directory: folder(t), passphrase: 'x'.repeat(20) } }
  const { origin, home, list } = await brokered(t, { state })
  const { access_token: token } = await new HandClient(origin).tokens()
  const { iss, sub, ...others } = decodeJwt(String(token))
  const caller: Identity = {
    provider: 'broker',
    subject: String(sub),
    issuer: String(iss),
    claims: { iss, sub, ...others },
  }
  // A second process on the same state.
  const replica = list.map((entry) =>
    'use' in entry && entry.use === 'issuer/broker'
      ? { ...entry, with: { ...Object(entry.with), keyFile: `${home}/broker.key` } }
      : entry,
  )
  return { list: replica, fixtures: { caller } }
})

const alice: Identity = {
  provider: 'broker',
  subject: 'alice',
  issuer: 'https://gateway.example',
  claims: { iss: 'https://gateway.example', sub: 'alice', sid: 'one', idp: 'https://idp.example' },
}
const HELD: HeldTokens = { access: 'of-alice', id: 'id-of-alice', holder: 'alice one', expiresAt: 4e12 }
const fixtures = { caller: alice }

const isAlice = ({ subject, issuer, claims }: Identity): boolean =>
  subject === alice.subject &&
  issuer === alice.issuer &&
  claims['sid'] === alice.claims['sid'] &&
  claims['idp'] === alice.claims['idp']

const holding =
  (held: unknown = HELD, knows = isAlice): unknown =>
  (caller: Identity, name: string) =>
    name === 'login' && knows(caller) ? held : undefined

findsFaults(CallerTokens, {
  'tokens for every caller': { code: 'CALLER_MADE_UP', make: () => holding(HELD, () => true) },
  'an error that is not for callers': {
    code: 'CALLER_TOKENS_THROW',
    fixtures,
    make: () => (caller: Identity, name: string) => {
      if (isAlice(caller)) return name === 'login' ? HELD : undefined
      throw new TypeError('no such sign-in')
    },
  },
  'tokens for everybody who names the sign-in': {
    code: 'CALLER_FOREIGN',
    fixtures,
    make: () => holding(HELD, ({ claims: { sid } }) => sid === 'one'),
  },
  'the same tokens by any name': {
    code: 'TOKENS_UNNAMED',
    fixtures,
    make: () => (caller: Identity) => (isAlice(caller) ? HELD : undefined),
  },
  'nothing of the caller': { code: 'TOKENS_MALFORMED', fixtures, make: () => holding(null) },
  'an expiry in seconds': {
    code: 'TOKENS_MALFORMED',
    fixtures,
    make: () => holding({ ...HELD, expiresAt: 4e9 }),
  },
  'another holder each time': {
    code: 'HOLDER_UNSTABLE',
    fixtures,
    make: () => {
      let count = 0
      return (caller: Identity, name: string) =>
        name === 'login' && isAlice(caller) ? { ...HELD, holder: `alice ${++count}` } : undefined
    },
  },
})
