import type { FastifyRequest } from 'fastify'
import { BrowserSession } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'
import { providing } from '#kit/plugin.js'

const nobody = {
  token: () => undefined,
  person: () => undefined,
  signInPath: (returnTo: string) => `/enter?to=${encodeURIComponent(returnTo)}`,
  signOutPath: '/leave',
} satisfies BrowserSession

const closed = providing('closed', BrowserSession, nobody)

contractSuite('sessions of nobody', () => ({ list: [closed] }))

contractSuite('sealed sessions', () => ({
  list: [
    { use: 'discovery/issuer' },
    { use: 'auth/anonymous' },
    {
      use: 'pages/sign-in',
      with: {
        resourceUrl: 'https://registry.example.com',
        issuerUrl: 'https://idp.example.com',
        clientId: 'pages',
      },
    },
  ],
}))

findsFaults(BrowserSession, {
  'a session for every request': {
    code: 'SESSION_MADE_UP',
    make: () => ({ ...nobody, token: () => 'token' }),
  },
  'a session that fails without a cookie': {
    code: 'SESSION_MADE_UP',
    make: () => ({ ...nobody, token: () => Promise.reject(new Error('no cookie')) }),
  },
  'a name for every request': { code: 'PERSON_MADE_UP', make: () => ({ ...nobody, person: () => 'alice' }) },
  'a return address that is not encoded': {
    code: 'SIGN_IN_PATH_MALFORMED',
    make: () => ({ ...nobody, signInPath: (returnTo: string) => returnTo }),
  },
  'removing the cookie from the request': {
    code: 'REQUEST_CHANGED',
    make: () => ({
      ...nobody,
      token: ({ headers }: FastifyRequest) => {
        headers['cookie'] = 'taken=out'
        return undefined
      },
    }),
  },
  'a sign-out at another host': {
    code: 'SIGN_IN_PATH_MALFORMED',
    make: () => ({ ...nobody, signOutPath: '//elsewhere.example/leave' }),
  },
})
