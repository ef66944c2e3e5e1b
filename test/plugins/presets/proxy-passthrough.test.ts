import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { serving } from '#kit/booted.js'
import { issuing } from '#kit/issuer.js'
import { oidcSettings } from '#kit/oidc-settings.js'
import { granting, tokenEndpoint } from '../credential/exchanging.js'
import { answerTo, rawTarget } from '../forward/raw-target.js'

type Written = Partial<Record<keyof ProxySettings, unknown>>

/** The proxy of these settings before a target that keeps what it was sent, byte for byte. */
async function checking(t: TestContext, written: Written = {}) {
  const issuer = await issuing(t)
  const target = await rawTarget(t, () => 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
  const { addresses } = await serving(
    t,
    proxy(
      ProxySettings.parse({
        targetUri: `${target.origin}/mcp`,
        ...oidcSettings(issuer),
        ...written,
      }),
    ),
  )
  return { token: await issuer.jwt(), main: addresses.main ?? '', target }
}

const exchange = async (t: TestContext): Promise<Written> => ({
  tokenExchangeUrl: (await tokenEndpoint(t, granting({ access_token: 'exchanged' }))).url,
  tokenExchangeAllowPrivateIp: true,
})

type Header = readonly [name: string, value: string]

/** What the target gets of a credential, in each mode; of the caller's it gets nothing. */
const modes: readonly (readonly [string, (t: TestContext) => Promise<Written>, readonly Header[]])[] = [
  ['incoming', async () => ({}), []],
  [
    'incoming and outgoing',
    async () => ({ remoteAuthBearerToken: 'ours' }),
    [['authorization', 'Bearer ours']],
  ],
  ['exchange, replacing', exchange, [['authorization', 'Bearer exchanged']]],
  [
    'exchange, in a header of its own',
    async (t) => ({ ...(await exchange(t)), tokenExchangeHeaderName: 'X-Target-Token' }),
    [['x-target-token', 'Bearer exchanged']],
  ],
]

for (const [mode, settings, expected] of modes) {
  test(`${mode}: no credential of the caller passes, however it is written (T8)`, async (t) => {
    const { main, token, target } = await checking(t, await settings(t))
    const { host } = new URL(main)
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    const heads = [
      'GET / HTTP/1.1',
      `POST /mcp HTTP/1.1\r\nContent-Length: ${body.length}`,
      'POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked',
    ]
    const spellings = [
      ['Authorization', 'Cookie', 'Proxy-Authorization', 'X-Target-Token'],
      ['aUTHORIZATION', 'cOOKIE', 'pROXY-aUTHORIZATION', 'x-tARGET-tOKEN'],
    ]
    for (const head of heads) {
      for (const [authorization, cookie, proxied, ours] of spellings) {
        const headers = [
          `Host: ${host}`,
          `${authorization}: Bearer ${token}`,
          `${cookie}: session=canary`,
          `${cookie}: second=canary`,
          `${proxied}: Basic canary`,
          ...(mode.includes('own') ? [`${ours}: canary`] : []),
          'Connection: authorization, x-target-token',
        ]
        const trailers = [...headers.slice(0, -1), 'X-Forwarded-For: canary', 'X-Sum: 9', '', ''].join('\r\n')
        const rest = head.startsWith('GET')
          ? ''
          : head.endsWith('chunked')
            ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n${trailers}`
            : body
        const bytes = `${head}\r\n${headers.join('\r\n')}\r\n\r\n${rest}`
        assert.equal((await answerTo(main, bytes)).line, 'HTTP/1.1 200 OK')
      }
    }

    assert.equal(target.seen.length, 6)
    for (const { headers, line, trailers } of target.seen) {
      const chunked = headers.some(([name]) => name.toLowerCase() === 'transfer-encoding')
      assert.deepEqual(trailers, chunked ? [['X-Sum', '9']] : [], line)
      const seen = headers.map(([name, value]): Header => [name.toLowerCase(), value])
      const names = ['authorization', 'cookie', 'proxy-authorization', 'x-target-token']
      assert.deepEqual(
        seen.filter(([name]) => names.includes(name)),
        expected,
      )
      assert.ok(!JSON.stringify(seen).includes('canary') && !JSON.stringify(seen).includes(token))
    }
  })
}
