import assert from 'node:assert/strict'
import { posix } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { FastifyRequest } from 'fastify'
import type { List } from 'sallyport'
import { authSection, incomingEntries } from 'sallyport/presets/incoming'
import { issuing, serving } from 'sallyport/testing'
import { listen, plugin } from '#kit/plugin.js'
import { requestRaw } from '#kit/raw.js'
import { runs } from '#kit/runs.js'

interface Entered {
  readonly route: string
  /** Whether this route, with these parameters, needs no token. */
  readonly open: boolean
  readonly verified: boolean
}

/** Routes of every form, which record each run of a handler. */
function watched(entered: Entered[]) {
  const note =
    (route: string, isOpen: (params: Record<string, string>) => boolean) => (request: FastifyRequest) => {
      const params = request.params as Record<string, string>
      entered.push({ route, open: isOpen(params), verified: request.identity !== undefined })
      return 'entered'
    }
  return plugin('watched', ({ http }) => {
    const never = () => false
    http.all('/closed', note('closed', never))
    http.all('/', note('root', never))
    http.get(
      '/openapi.json',
      note('openapi', () => true),
    )
    http.all(
      '/registry/:name/v0.1/servers',
      note('servers', ({ name }) => name === 'public'),
    )
    http.all(
      '/registry/:name',
      note('registry', ({ name }) => name === 'public'),
    )
    // A handler may resolve the rest as a file server would, so the resolved path has to be public too.
    http.all(
      '/files/*',
      note('files', ({ '*': rest = '' }) => `${posix.normalize(`/${rest}`)}/`.startsWith('/open/')),
    )
  })
}

async function gateway(t: TestContext) {
  const issuer = await issuing(t)
  const entered: Entered[] = []
  const auth = authSection.parse({
    publicPaths: ['/files/open'],
    oauth: {
      resourceUrl: 'https://r.example/api',
      publicPaths: ['/registry/public'],
      providers: [issuer.provider],
    },
  })
  const list: List = [listen, ...incomingEntries(auth), watched(entered)]
  const { main = '' } = (await serving(t, list)).addresses
  return { main, entered, token: await issuer.jwt() }
}

const segment = fc.constantFrom(
  ...[
    'registry',
    'public',
    'default',
    'v0.1',
    'servers',
    'closed',
    'files',
    'open',
    'secret',
    'openapi.json',
  ],
  ...[
    '.well-known',
    'oauth-protected-resource',
    'api',
    '..',
    '.',
    '...',
    '%2e%2e',
    '%2E.',
    '.%2e',
    '%2e',
    '',
  ],
  ...[
    '%2f',
    '%2F..%2f',
    '..%2f',
    '%5c',
    '\\',
    '..\\',
    ';',
    'public;x',
    '..;',
    '%00',
    '%0d%0a',
    '%',
    '%zz',
    '%c0%ae',
  ],
  ...[
    'REGISTRY',
    'Public',
    '%70ublic',
    'pub%6cic',
    'public%20',
    'public.',
    'public%2f',
    'open%2f..',
    '%252e%252e',
  ],
  ...[
    '*',
    ':name',
    '?',
    '?x=/registry/public',
    '#',
    '#/registry/public',
    '@',
    'registry%2fpublic',
    '%ef%bc%8f',
  ],
)
const knownPaths = [
  '/closed',
  '/registry/default/v0.1/servers',
  '/registry/public/v0.1/servers',
  '/registry/public',
  '/files/secret',
  '/files/open/x',
  '/openapi.json',
  '/',
]

const wild = fc
  .array(fc.tuple(fc.constantFrom('/', '/', '/', '//', '/./', '/../', ''), segment), { maxLength: 8 })
  .map((parts) => parts.flat().join(''))
/** A path that exists, with one or two changes. */
const near = fc
  .tuple(
    fc.constantFrom(...knownPaths),
    fc.array(fc.tuple(fc.nat(40), fc.constantFrom('encode', 'upper', 'insert', 'replace', 'none'), segment), {
      maxLength: 2,
    }),
  )
  .map(([known, changes]) => changes.reduce(changed, known))
const target = fc
  .tuple(
    fc.constantFrom(
      '',
      '',
      '',
      '',
      '/',
      'http://gateway',
      'http://evil.example',
      'HTTP://gateway/registry/public/..',
    ),
    fc.oneof({ arbitrary: near, weight: 3 }, { arbitrary: wild, weight: 1 }),
  )
  .map(([start, rest]) => start + rest)
const method = fc.constantFrom(
  'GET',
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'OPTIONS',
  'PATCH',
  'TRACE',
  'PROPFIND',
  'get',
)

test('RS-35 T17: no handler that needs a token runs without one, whatever the request line is', async (t) => {
  const { main, entered, token } = await gateway(t)
  const host = 'Host: gateway'
  const nothing = [
    [host],
    [host, 'Authorization: Bearer eyJ.eyJ.x'],
    [host, `X-Authorization: Bearer ${token}`],
  ]

  await fc.assert(
    fc.asyncProperty(method, target, fc.constantFrom(...nothing), async (verb, line, headers) => {
      if (/\s/.test(line) || line === '') return
      const before = entered.length
      await requestRaw(main, `${verb} ${line}`, headers)
      for (const each of entered.slice(before)) assert.ok(each.open && !each.verified, JSON.stringify(each))
    }),
    {
      numRuns: runs(3000),
      examples: [
        ['GET', '/openapi.json/..%2fclosed', nothing[0] ?? []],
        ['GET', '//openapi.json', nothing[0] ?? []],
        ['GET', '/.well-known/../closed', nothing[0] ?? []],
        ['GET', '/registry/public/../default/v0.1/servers', nothing[0] ?? []],
        ['GET', '/files/open/../secret', nothing[0] ?? []],
        ['GET', '/files/open/%2e%2e/secret', nothing[0] ?? []],
        ['GET', 'http://gateway/registry/public/%2e%2e/default', nothing[0] ?? []],
      ],
    },
  )
  // Otherwise a gateway that refuses everything would pass too.
  assert.ok(entered.length > 0, 'no open handler ever ran')
  entered.length = 0
  for (const known of knownPaths) await requestRaw(main, `GET ${known}`, [host])
  assert.deepEqual(
    entered.map(({ route }) => route),
    ['servers', 'registry', 'files', 'openapi'],
  )
  entered.length = 0
  for (const known of knownPaths)
    await requestRaw(main, `GET ${known}`, [host, `Authorization: Bearer ${token}`])
  assert.equal(entered.length, knownPaths.length)
})

function changed(path: string, [place, how, piece]: [number, string, string]): string {
  const at = place % path.length
  const character = path.charAt(at)
  const encoded = `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`
  if (how === 'encode') return path.slice(0, at) + encoded + path.slice(at + 1)
  if (how === 'upper') return path.slice(0, at) + character.toUpperCase() + path.slice(at + 1)
  if (how === 'none') return path
  const segments = path.split('/')
  segments.splice(1 + (place % segments.length), how === 'insert' ? 0 : 1, piece)
  return segments.join('/')
}

test('more than one Host is refused on public routes too (RFC 9112, 3.2)', async (t) => {
  const { main, entered } = await gateway(t)

  for (const second of ['Host: gateway', 'HOST: evil']) {
    const { status, body } = await requestRaw(main, 'GET /registry/public', ['Host: gateway', second])
    assert.equal(status, 400)
    assert.equal((JSON.parse(body) as { error: string }).error, 'host_repeated')
  }
  assert.deepEqual(entered, [])
  assert.equal((await requestRaw(main, 'GET /registry/public')).status, 200)
})
