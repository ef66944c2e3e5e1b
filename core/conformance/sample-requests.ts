import type { InjectOptions } from 'fastify'

/** The public route on which a plugin is tested. */
export const ROUTE = '/conformance'

/** A text in the path, query and headers of some requests, to recognize it in the results of a plugin. */
export const CALLER_TEXT = 'from-the-caller'

const INVALID_TOKENS = [
  'a',
  '..',
  'e30.e30.',
  'eyJhbGciOiJub25lIn0.e30.',
  'eyJ'.repeat(3000),
  'sample',
  'A'.repeat(64),
  '__proto__',
]

/** Unusual requests, each as GET and as POST. None has a token that was issued. */
export const sampleRequests: readonly InjectOptions[] = [
  { url: ROUTE },
  { url: '/nowhere', headers: { origin: 'null', host: 'elsewhere.example' } },
  {
    url: `/${CALLER_TEXT}?${CALLER_TEXT}=${CALLER_TEXT}`,
    headers: {
      host: `${CALLER_TEXT}.example`,
      origin: `https://${CALLER_TEXT}.example`,
      'x-forwarded-host': `${CALLER_TEXT}.example`,
    },
  },
  { url: `${ROUTE}?${'x'.repeat(8000)}` },
  { url: ROUTE, headers: { 'x-forwarded-for': '::1', 'content-type': '' } },
  { url: ROUTE, headers: { authorization: 'Basic eDp5' } },
  ...INVALID_TOKENS.map((token) => ({ url: ROUTE, headers: { authorization: `Bearer ${token}` } })),
].flatMap((request) => [
  { ...request, method: 'GET' as const },
  { ...request, method: 'POST' as const, payload: '{' },
])
