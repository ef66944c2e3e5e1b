import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { ConfigError, type List } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { createLog, planList, serve } from 'sallyport/embed'
import { serving } from '#kit/booted.js'
import { closedPort } from '#kit/listening.js'

const context = { catalogue, folder: import.meta.dirname, log: createLog({ level: 'silent' }) }

const lists = (address: string): List[] => [
  [{ use: 'dev/issuer', with: { address, clientId: 'a', clientSecret: 'b' } }],
  [{ use: 'dev/mcp-server', with: { address } }],
]

test('plugins for development listen on loopback only', async () => {
  const outside = [
    '0.0.0.0:0',
    '[::]:0',
    '10.0.0.1:0',
    'localhost:0',
    '127.0.0.1.example:0',
    'x127.0.0.1:0',
    '[::ffff:10.0.0.1]:0',
  ]
  for (const list of outside.flatMap(lists)) await assert.rejects(planList(list, context), ConfigError)
  for (const list of ['127.0.0.1:0', '127.1.2.3:9000', '[::1]:0'].flatMap(lists)) {
    await planList(list, context)
  }
})

test('a port in use is an error at the start, with the address', async (t) => {
  const address = new URL(await closedPort()).host
  await serving(t, [{ use: 'dev/mcp-server', with: { address } }])

  for (const list of lists(address)) {
    await assert.rejects(serve(list, context), (error: Error) => {
      assert.ok(error instanceof ConfigError)
      return error.message.includes(address)
    })
  }
})

/** What a browser may set for a page, which `fetch` does not. */
const status = (url: string, headers: Readonly<Record<string, string>>, method = 'GET') =>
  new Promise<{ readonly status: number | undefined; readonly allowed: unknown }>((resolve, reject) =>
    request(url, { method, headers }, (response) => {
      response.resume()
      resolve({ status: response.statusCode, allowed: response.headers['access-control-allow-origin'] })
    })
      .on('error', reject)
      .end(),
  )

test('foreign pages get nothing, by any host name or origin', async (t) => {
  const paths = ['/.well-known/openid-configuration', '/mcp']
  for (const [index, path] of paths.entries()) {
    const address = new URL(await closedPort()).host
    await serving(t, lists(address)[index] ?? [])
    const { port } = new URL(`http://${address}`)
    const own = `http://${address}`
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1',
      `localhost.evil.example:${port}`,
    ])
      assert.equal((await status(own + path, { host })).status, 403, `${path} ${host}`)
    const others = [
      'http://evil.example',
      'null',
      'https://localhost.evil.example',
      'x://localhost',
      own.slice(7),
    ]
    for (const origin of others) {
      const answer = await status(own + path, { origin })
      assert.deepEqual([answer.status, answer.allowed], [403, undefined], `${path} ${origin}`)
      assert.equal((await status(own + path, { origin }, 'OPTIONS')).status, 403)
    }
    for (const host of [`localhost:${port}`, `[::1]:${port}`, `LOCALHOST:${port}`])
      assert.notEqual((await status(own + path, { host })).status, 403, `${path} ${host}`)
    for (const origin of [own, 'http://localhost:6274', 'http://[::1]:1'])
      assert.notEqual((await status(own + path, { origin })).status, 403, `${path} ${origin}`)
  }
})
