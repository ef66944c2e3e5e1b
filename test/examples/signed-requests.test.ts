import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Guard } from 'sallyport'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { listen, providing } from '#kit/plugin.js'

const folder = join(import.meta.dirname, '../../examples/signed-requests')
const key = readFileSync(join(folder, 'signing.key'), 'utf8').trim()
const { default: hmac } = await import(join(folder, 'hmac.mjs'))

interface Seen {
  readonly method: string | undefined
  readonly body: Buffer
  readonly signature: string | string[] | undefined
}

/** The example in front of a target that records its requests. */
async function signing(t: TestContext, options: object = {}, more: object[] = []) {
  const seen: Seen[] = []
  const target = await listening(t, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      seen.push({
        method: request.method,
        body: Buffer.concat(chunks),
        signature: request.headers['x-signature'],
      })
      response.end('ok')
    })
  })
  const { addresses } = await serving(
    t,
    [
      listen,
      { use: 'auth/anonymous' },
      ...(more as []),
      { use: hmac, with: { keyFile: 'signing.key', ...options } },
      { use: 'forward/http', with: { target } },
    ],
    { folder },
  )
  return { main: addresses.main ?? '', seen }
}

/** Sends a request chunk by chunk, and resolves with the status of the response. */
const send = (origin: string, chunks: readonly Buffer[], headers: Record<string, string | number> = {}) =>
  new Promise<number>((resolve, reject) => {
    const request = httpRequest(origin, { method: 'POST', headers, agent: false })
    request.on('error', reject).on('response', (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    const write = (): void => {
      for (const chunk of chunks) request.write(chunk)
      request.end()
    }
    if (headers['expect'] === undefined) write()
    else {
      request.flushHeaders()
      request.on('continue', write)
    }
  })

const signatureOf = (body: Buffer): string => `sha256=${createHmac('sha256', key).update(body).digest('hex')}`

const body = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
const large = Buffer.alloc(3 * 1024 * 1024, 'large body ')
const halves = (whole: Buffer): Buffer[] => [whole.subarray(0, 20), whole.subarray(20)]
const chunked = { 'transfer-encoding': 'chunked' }

for (const [name, chunks, headers] of [
  ['a small body', [body], { 'content-length': body.length }],
  ['no body', [], { 'content-length': 0 }],
  ['a chunked body', halves(body), chunked],
  ['a large body', [large], { 'content-length': large.length }],
  ['a large chunked body', halves(large), chunked],
  ['a body after 100 Continue', [body], { 'content-length': body.length, expect: '100-continue' }],
] as const) {
  test(`the plugin signs a body, and the target gets it unchanged: ${name}`, async (t) => {
    const { main, seen } = await signing(t)
    const whole = Buffer.concat(chunks)

    assert.equal(await send(main, chunks, { ...headers }), 200)
    assert.deepEqual(
      seen.map(({ signature }) => signature),
      [signatureOf(whole)],
    )
    assert.ok(seen[0]?.body.equals(whole))
  })
}

test('a body larger than the plugin allows is a 413, and the target gets no request', async (t) => {
  const { main, seen } = await signing(t, { maxBytes: 1024 })

  for (const headers of [{ 'content-length': large.length }, chunked]) {
    assert.equal(await send(main, halves(large), headers), 413)
  }
  assert.equal(seen.length, 0)
  assert.equal(await send(main, [body], chunked), 200)
})

test('the plugin signs a body that a guard has read before', async (t) => {
  const looked: string[] = []
  const look = providing('look', Guard, async (request) => {
    looked.push((await request.wholeBody()).toString('utf8', 0, 20))
  })
  const { main, seen } = await signing(t, {}, [look])

  const framings: Record<string, string | number>[] = [
    { 'content-length': body.length },
    chunked,
    { ...chunked, expect: '100-continue' },
  ]
  for (const headers of framings) {
    assert.equal(await send(main, halves(body), headers), 200)
  }
  assert.deepEqual(
    seen.map(({ signature }) => signature),
    Array.from({ length: 3 }, () => signatureOf(body)),
  )
  assert.deepEqual(
    looked,
    Array.from({ length: 3 }, () => body.toString('utf8', 0, 20)),
  )
})
