import { randomBytes } from 'node:crypto'
import { type BegunLogin, type Login, LoginProvider, UpstreamError } from 'sallyport'
import { contractSuite, type Fixtures } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'
import { providing } from '#kit/plugin.js'

const random = (): string => randomBytes(16).toString('base64url')

/** A provider whose page signs every browser in as `alice`, by a code that is good for one sign-in. */
class Directory {
  /** The nonce of the sign-in that each code is for. */
  readonly codes = new Map<string, string>()
  readonly tokens = new Set<string>()

  readonly fixtures: Fixtures = {
    person: {
      redirectUri: 'https://gateway.example/callback',
      signIn: async (url) => {
        const { searchParams } = new URL(url)
        const code = random()
        this.codes.set(code, searchParams.get('nonce') ?? '')
        return `?${new URLSearchParams({ code, state: searchParams.get('state') ?? '' })}`
      },
    },
  }

  begin = async (): Promise<BegunLogin> => {
    const [state, nonce] = [random(), random()]
    const url = `https://idp.example/login?${new URLSearchParams({ state, nonce })}`
    return { url, state, checks: JSON.stringify({ state, nonce }) }
  }

  finish = async (query: string, checks: string): Promise<Login> => {
    const answer = new URLSearchParams(query)
    const { state, nonce } = JSON.parse(checks)
    if (typeof state !== 'string' || answer.get('state') !== state) throw new Error('another state')
    return this.redeem(answer.get('code'), nonce)
  }

  redeem(code: string | null, nonce?: string): Login {
    const found = this.codes.get(code ?? '')
    if (found === undefined || (nonce !== undefined && found !== nonce)) throw new Error('another code')
    const access = random()
    this.tokens.add(access)
    return { subject: 'alice', claims: { sub: 'alice' }, tokens: { access } }
  }

  refresh = async (login: Login): Promise<Login | 'ended'> =>
    this.tokens.has(login.tokens.access) ? login : 'ended'

  /** The provider, with these members replaced by wrong ones. */
  with(wrong: object = {}): LoginProvider {
    const { begin, finish, refresh } = this
    const good = { idp: 'https://idp.example', name: 'idp.example', accountsOf: 'organisation' }
    // Members are copied with their getters.
    return Object.defineProperties(
      { ...good, begin, finish, refresh },
      Object.getOwnPropertyDescriptors(wrong),
    ) as unknown as LoginProvider
  }
}

const directory = new Directory()
const { fixtures } = directory

contractSuite('a provider of a login', () => ({
  list: [providing('directory', LoginProvider, directory.with())],
  fixtures,
}))

const begins = (changed: (begun: BegunLogin) => object) => () =>
  directory.with({
    begin: async () => ({ ...(await directory.begin()), ...changed(await directory.begin()) }),
  })

let count = 0

findsFaults(LoginProvider, {
  'no name': { code: 'LOGIN_UNNAMED', make: () => directory.with({ name: '' }) },
  'another idp each time': {
    code: 'LOGIN_UNNAMED',
    make: () =>
      directory.with({
        get idp() {
          return `idp ${++count}`
        },
      }),
  },
  'accounts of some': { code: 'LOGIN_UNNAMED', make: () => directory.with({ accountsOf: 'some' }) },
  'a page by plain http': {
    code: 'SIGN_IN_MALFORMED',
    make: begins(() => ({ url: 'http://idp.example/login' })),
  },
  'a page that is a script': {
    code: 'SIGN_IN_MALFORMED',
    make: begins(() => ({ url: 'javascript:alert(1)' })),
  },
  'checks that are an object': {
    code: 'SIGN_IN_MALFORMED',
    make: begins(() => ({ checks: { state: 'x' } })),
  },
  'another state in the page': {
    code: 'SIGN_IN_MALFORMED',
    make: begins(() => ({ url: `https://idp.example/login?state=${random()}` })),
  },
  'an error of its own while it begins': {
    code: 'SIGN_IN_MALFORMED',
    make: () => directory.with({ begin: () => Promise.reject(new TypeError('undefined')) }),
  },
  'a counter for a state': {
    code: 'STATE_GUESSABLE',
    make: () =>
      directory.with({
        begin: async () => {
          const state = String(++count)
          return { url: 'https://idp.example/login', state, checks: JSON.stringify({ state }) }
        },
      }),
  },
  'one state for all sign-ins': {
    code: 'STATE_GUESSABLE',
    make: () =>
      directory.with({
        begin: async () => ({
          url: 'https://idp.example/login',
          state: 'always-the-same-state',
          checks: JSON.stringify({ state: 'always-the-same-state' }),
        }),
      }),
  },
  'a person for any code': {
    code: 'LOGIN_FORGED',
    make: () =>
      directory.with({
        finish: async (query: string, checks: string) => {
          const code = new URLSearchParams(query).get('code')
          if (code === null || JSON.parse(checks)?.nonce === undefined) throw new Error('no code')
          try {
            return await directory.finish(query, checks)
          } catch (error) {
            if (directory.codes.has(code)) throw error
            return { subject: 'alice', claims: {}, tokens: { access: '' } }
          }
        },
      }),
  },
  'a person for a denial': {
    code: 'LOGIN_FORGED',
    make: () =>
      directory.with({
        finish: async (query: string, checks: string) =>
          query.includes('error=') ? undefined : directory.finish(query, checks),
      }),
  },
  'a refresh without a request to the provider': {
    code: 'LOGIN_INVENTED',
    make: () => directory.with({ refresh: async (login: Login) => login }),
  },
  'a login that is good when the provider is away': {
    code: 'LOGIN_INVENTED',
    make: () =>
      directory.with({
        refresh: async (login: Login) =>
          directory.tokens.has(login.tokens.access) ? login : { ...login, claims: {} },
      }),
  },
  'a person without a subject': {
    code: 'LOGIN_MALFORMED',
    fixtures,
    make: () =>
      directory.with({
        finish: async (query: string, checks: string) => ({
          ...(await directory.finish(query, checks)),
          subject: '',
        }),
      }),
  },
  'another person after a refresh': {
    code: 'LOGIN_MALFORMED',
    fixtures,
    make: () =>
      directory.with({
        refresh: async (login: Login) => {
          const found = await directory.refresh(login)
          return found === 'ended' ? found : { ...found, subject: 'bob' }
        },
      }),
  },
  'an answer without a look at its state': {
    code: 'LOGIN_MIXED_UP',
    fixtures,
    make: () =>
      directory.with({
        finish: async (query: string) => directory.redeem(new URLSearchParams(query).get('code')),
      }),
  },
  'a state and nothing else that binds the code': {
    code: 'LOGIN_MIXED_UP',
    fixtures,
    make: () =>
      directory.with({
        finish: async (query: string, checks: string) => {
          const answer = new URLSearchParams(query)
          if (answer.get('state') !== JSON.parse(checks).state) throw new Error('another state')
          return directory.redeem(answer.get('code'))
        },
      }),
  },
})

contractSuite('a provider that cannot be reached when it is asked', () => ({
  list: [
    providing(
      'away',
      LoginProvider,
      directory.with({ refresh: () => Promise.reject(new UpstreamError('IDP_AWAY', 'no answer')) }),
    ),
  ],
}))
