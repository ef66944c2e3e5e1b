import assert from 'node:assert/strict'
import dns from 'node:dns/promises'
import { syncBuiltinESMExports } from 'node:module'
import { type TestContext, test } from 'node:test'
import { ConfigError, type Entry } from 'sallyport'
import { boot } from 'sallyport/embed'
import { booted, contextFor } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { variables } from '#kit/variables.js'
import { proxied, send } from './proxied.js'

const bearer: Entry = { use: 'credential/static-bearer', with: { token: 'secret' } }

const listTo = (target: string, options: object = {}, credential = bearer): Entry[] => [
  { use: 'auth/anonymous' },
  credential,
  { use: 'forward/http', with: { target, ...options } },
]

/** Names and addresses that the name server of this process knows. */
function resolving(t: TestContext, addresses: Record<string, string>): void {
  const lookup = async (name: string) => [{ address: addresses[name] ?? '127.0.0.1', family: 4 }]
  t.mock.method(dns, 'lookup', lookup)
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
}

const NAMES_THE_FLAG = (error: unknown): boolean =>
  error instanceof ConfigError && /target: .*--allow-plain-http/.test(error.message)

for (const address of ['203.0.113.5', '100.64.0.1', '172.32.0.1', '[2001:db8::1]', '[::ffff:203.0.113.5]']) {
  test(`the start refuses a credential to plain http at ${address}, unless that is allowed`, async (t) => {
    const target = `http://${address}/mcp`
    await assert.rejects(boot(listTo(target), contextFor({})), NAMES_THE_FLAG)

    await booted(t, listTo(target, { allowPlainHttp: true }))
    await booted(t, listTo(`https://${address}/mcp`))
    await booted(t, [{ use: 'auth/anonymous' }, { use: 'forward/http', with: { target } }])
  })
}

for (const host of [
  '10.1.2.3',
  '172.31.0.1',
  '192.168.0.1',
  '169.254.1.1',
  '127.9.9.9',
  '[::1]',
  '[fd00::1]',
  '[fe80::1]',
  '[::ffff:10.0.0.1]',
  'localhost',
]) {
  test(`a credential may go to plain http at ${host}, on this machine or a private network`, async (t) => {
    await booted(t, listTo(`http://${host}/mcp`))
  })
}

test('a token of an exchange or a login is a credential too', async () => {
  const target = 'http://203.0.113.5/mcp'
  const exchange = { use: 'credential/token-exchange', with: { url: 'https://sts.example.com/token' } }
  const stores = [{ use: 'state/memory' }, { use: 'registrar/dynamic' }]
  const login = { use: 'credential/oauth', with: { target } }

  await assert.rejects(boot([bearer, ...listTo(target, {}, exchange)], contextFor({})), NAMES_THE_FLAG)
  await assert.rejects(boot([...stores, ...listTo(target, {}, login)], contextFor({})), NAMES_THE_FLAG)
})

test('a secret in a header and a fixed Authorization are credentials too, other headers are not', async (t) => {
  const target = 'http://203.0.113.5/mcp'
  variables(t, { SALLYPORT_SECRET_PLAIN: 'canary' })
  const secrets = { use: 'secrets/environment' }
  const stored = { use: 'headers/stored', with: { headers: [{ name: 'X-Api-Key', secret: 'plain' }] } }
  const fixed = (name: string) => ({
    use: 'headers/static',
    with: { headers: [{ name, value: 'Bearer x' }] },
  })

  await assert.rejects(boot([secrets, ...listTo(target, {}, stored)], contextFor({})), NAMES_THE_FLAG)
  await assert.rejects(boot(listTo(target, {}, fixed('Authorization')), contextFor({})), NAMES_THE_FLAG)
  await booted(t, listTo(target, {}, fixed('X-Team')))
  await booted(t, [secrets, ...listTo(target, { allowPlainHttp: true }, stored)])
})

test('a name is judged by the address of its connection, for small bodies and streams', async (t) => {
  const asked: (string | undefined)[] = []
  const target = await listening(t, (request, response) => {
    asked.push(request.headers.authorization)
    request.resume()
    response.end('reached')
  })
  const addresses: Record<string, string> = { 'mcp.test': '203.0.113.5' }
  resolving(t, addresses)
  const { main, lines } = await proxied(t, target.replace('127.0.0.1', 'mcp.test'), {}, [bearer])
  const small = { method: 'POST', body: 'x' }
  const streamed = { ...small, headers: { 'transfer-encoding': 'chunked' } }

  for (const request of [small, streamed]) {
    const { status, body } = await send(main, request)
    assert.equal(status, 502)
    assert.match(body, /target_plain_http/)
  }
  assert.equal(asked.length, 0)
  assert.match(JSON.stringify(lines), /--allow-plain-http/)

  addresses['mcp.test'] = '127.0.0.1'
  for (const request of [small, streamed]) assert.equal((await send(main, request)).body, 'reached')
  assert.deepEqual(asked, ['Bearer secret', 'Bearer secret'])
})

test('without a credential any name may be a plain http target', async (t) => {
  const target = await listening(t, (_request, response) => response.end('reached'))
  const { main } = await proxied(t, target.replace('127.0.0.1', 'localhost'))

  assert.equal((await send(main)).body, 'reached')
})
