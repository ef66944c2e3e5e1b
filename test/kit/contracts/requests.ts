import type { InjectOptions } from 'fastify'

const NONSENSE = [
  'a',
  '..',
  'e30.e30.',
  'eyJhbGciOiJub25lIn0.e30.',
  'eyJ'.repeat(3000),
  'sample',
  'A'.repeat(64),
  '__proto__',
]

/** What comes in from strangers sooner or later. */
export const oddRequests: readonly InjectOptions[] = [
  { url: '/bench' },
  { url: '/nowhere', headers: { origin: 'null', host: 'elsewhere.example' } },
  { url: `/bench?${'x'.repeat(8000)}` },
  { url: '/bench', headers: { 'x-forwarded-for': '::1', 'content-type': '' } },
  { url: '/bench', headers: { authorization: 'Basic eDp5' } },
  ...NONSENSE.map((token) => ({ url: '/bench', headers: { authorization: `Bearer ${token}` } })),
].flatMap((request) => [
  { ...request, method: 'GET' as const },
  { ...request, method: 'POST' as const, payload: '{' },
])
