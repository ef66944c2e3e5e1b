import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import fc from 'fast-check'
import { ClientAddresses } from '#core/http/client-address.js'
import { booted, serving } from '#kit/booted.js'
import { sendRaw } from '#kit/raw.js'
import { runs } from '#kit/runs.js'

type Headers = readonly (readonly [name: string, value: string])[]

/** A request whose connection comes from this address. */
function addressOf(
  peer: string | undefined,
  headers: Headers,
  trusted: readonly string[] = ['10.0.0.0/8', 'fd00::/8'],
) {
  const addresses = new ClientAddresses()
  addresses.trust(trusted)
  const request = { socket: { remoteAddress: peer }, rawHeaders: headers.flat() }
  return addresses.of(request as unknown as IncomingMessage)
}

const old = (...values: readonly string[]): Headers => values.map((value) => ['X-Forwarded-For', value])
const standard = (...values: readonly string[]): Headers => values.map((value) => ['Forwarded', value])

test('in X-Forwarded-For the last address that is no trusted proxy counts', () => {
  const cases: readonly (readonly [Headers, string])[] = [
    [old('203.0.113.9'), '203.0.113.9'],
    [old('6.6.6.6, 203.0.113.9, 10.0.0.2'), '203.0.113.9'],
    [old('6.6.6.6', '203.0.113.9,10.0.0.2', '10.0.0.3'), '203.0.113.9'],
    [old('10.0.0.7, 10.0.0.2'), '10.0.0.7'],
    [old('203.0.113.9:5123'), '203.0.113.9'],
    [old('[2001:DB8::1]:443'), '2001:db8::1'],
    [old('2001:db8::1'), '2001:db8::1'],
    [old('6.6.6.6, ::ffff:203.0.113.9'), '203.0.113.9'],
    [old('6.6.6.6, ::ffff:10.0.0.2'), '6.6.6.6'],
    [old('6.6.6.6, garbage, 10.0.0.2'), '10.0.0.2'],
    [old('6.6.6.6, unknown'), '10.0.0.1'],
    [old('6.6.6.6,'), '10.0.0.1'],
    [old(''), '10.0.0.1'],
    [old('6.6.6.6, 203.0.113.9; x'), '10.0.0.1'],
    [old('6.6.6.6, 203.0.113.9:999999'), '10.0.0.1'],
    [old('6.6.6.6, [203.0.113.9]'), '10.0.0.1'],
    [old('6.6.6.6, 010.0.0.2'), '10.0.0.1'],
    [[], '10.0.0.1'],
  ]
  for (const [headers, expected] of cases)
    assert.equal(addressOf('10.0.0.1', headers), expected, JSON.stringify(headers))
})

test('Forwarded is parsed as RFC 7239 defines it, and an obfuscated node ends the walk', () => {
  const cases: readonly (readonly [Headers, string])[] = [
    [standard('for=203.0.113.9'), '203.0.113.9'],
    [standard('For="203.0.113.9:80"; Proto=https;host="a, b"'), '203.0.113.9'],
    [standard('for=6.6.6.6, for="[2001:db8::1]:_x";by=_gate, proto=http;for=10.0.0.2'), '2001:db8::1'],
    [standard('for=6.6.6.6', 'for=203.0.113.9'), '203.0.113.9'],
    [standard('for=6.6.6.6, for=_hidden'), '10.0.0.1'],
    [standard('for=6.6.6.6, for=unknown, for=10.0.0.2'), '10.0.0.2'],
    [standard('for=6.6.6.6, by=10.0.0.2'), '10.0.0.1'],
    [standard('for=6.6.6.6;for=203.0.113.9'), '10.0.0.1'],
    [standard('for="203.0.113.9'), '10.0.0.1'],
    [standard('for=203.0.113.9,'), '10.0.0.1'],
    [standard('for=2001:db8::1'), '10.0.0.1'],
    [standard('203.0.113.9'), '10.0.0.1'],
    [standard(''), '10.0.0.1'],
    // A quote that a client left open does not swallow the line that the proxy adds.
    [standard('for=6.6.6.6;ext="', 'for=203.0.113.9'), '203.0.113.9'],
    [standard('for=6.6.6.6;ext=", for=203.0.113.9'), '10.0.0.1'],
    [standard('for=6.6.6.6, for=9.9.9.9;ext=", for=203.0.113.9;host="x"'), '10.0.0.1'],
  ]
  for (const [headers, expected] of cases)
    assert.equal(addressOf('10.0.0.1', headers), expected, JSON.stringify(headers))
})

test('two headers that disagree are both ignored', () => {
  const agreed = [...old('6.6.6.6, 203.0.113.9'), ...standard('for=203.0.113.9')]
  assert.equal(addressOf('10.0.0.1', agreed), '203.0.113.9')
  for (const other of ['for=6.6.6.6', 'for=_x', 'garbage', ''])
    assert.equal(addressOf('10.0.0.1', [...old('203.0.113.9'), ...standard(other)]), '10.0.0.1')
})

test('the address of the connection counts where no proxy is trusted; without one it is unknown', () => {
  assert.equal(addressOf('10.0.0.1', old('6.6.6.6'), []), '10.0.0.1')
  assert.equal(addressOf('::ffff:10.0.0.1', old('6.6.6.6'), []), '10.0.0.1')
  assert.equal(addressOf('::ffff:10.0.0.1', old('6.6.6.6')), '6.6.6.6')
  assert.equal(addressOf(undefined, old('6.6.6.6')), 'unknown')
})

const hostile = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('10.0.0.2', 'unknown', '_x', '"', '', 'for=1.2.3.4')),
    )
    .map((parts) => parts.join(', ')),
  fc.array(fc.ipV4()).map((parts) => parts.map((part) => `for=${part}`).join(',')),
)
const hostileHeaders = fc.array(
  fc.tuple(
    fc.constantFrom('Forwarded', 'forwarded', 'X-Forwarded-For', 'x-forwarded-for', 'X-Real-IP', 'Via'),
    hostile,
  ),
  { maxLength: 6 },
)

test('no header of an untrusted peer changes its address, and no header of any peer makes the parser throw', () => {
  fc.assert(
    fc.property(hostileHeaders, (headers) => {
      assert.equal(addressOf('203.0.113.7', headers), '203.0.113.7')
      assert.equal(typeof addressOf('10.0.0.1', headers), 'string')
    }),
    { numRuns: runs(500) },
  )
})

test('behind a trusted proxy, addresses that a client wrote itself change nothing', () => {
  fc.assert(
    fc.property(fc.array(hostile, { maxLength: 3 }), fc.ipV4(), (written, client) => {
      fc.pre(!client.startsWith('10.'))
      assert.equal(addressOf('10.0.0.1', old(...written, client)), client)
      assert.equal(addressOf('10.0.0.1', old([...written, client].join(', '))), client)
      assert.equal(addressOf('10.0.0.1', standard(...written, `for=${client}`)), client)
    }),
    { numRuns: runs(500) },
  )
})

test('the time for a header of 16 KiB grows with its length alone', () => {
  const spent = (size: number): number => {
    const lines = ['10.0.0.2, ', 'fd00::1,', 'for=fd00::1,', 'for="', '\\"', '"x', 'a=b;', '[', ' '].flatMap(
      (part) => {
        const value = part.repeat(Math.ceil(size / part.length))
        return [old(value), standard(value), standard(`for="${value}`)]
      },
    )
    const start = process.cpuUsage()
    for (let round = 0; round < 20; round++) for (const headers of lines) addressOf('10.0.0.1', headers)
    const { user, system } = process.cpuUsage(start)
    return user + system
  }
  spent(4096)
  const [quarter, whole] = [spent(4096), spent(16_384)]
  // Four times is linear; sixteen is quadratic.
  assert.ok(whole < quarter * 12, `${quarter} and ${whole} microseconds`)
})

test('a request over a real port has its client address', async (t) => {
  const routes = {
    name: 'routes',
    api: 1,
    setup: ({ http }: { http: import('fastify').FastifyInstance }) =>
      void http.get('/', ({ clientAddress }) => clientAddress),
  }
  const list = (trustedProxies?: readonly string[]) => [
    { use: 'listen/http', with: { address: '127.0.0.1:0', ...(trustedProxies && { trustedProxies }) } },
    { use: 'auth/anonymous' },
    { use: routes },
  ]
  const ask = async (trustedProxies?: readonly string[]) => {
    const { addresses } = await serving(t, list(trustedProxies))
    const answer = await sendRaw(
      addresses.main ?? '',
      'GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 203.0.113.9\r\nConnection: close\r\n\r\n',
    )
    return answer.split('\r\n\r\n')[1]
  }
  assert.equal(await ask(), '127.0.0.1')
  assert.equal(await ask(['10.0.0.0/8']), '127.0.0.1')
  assert.equal(await ask(['127.0.0.0/8']), '203.0.113.9')
  const app = await booted(t, list(['127.0.0.1']))
  assert.equal(
    (await app.inject({ url: '/', headers: { forwarded: 'for="[2001:db8::1]"' } })).body,
    '2001:db8::1',
  )
})
