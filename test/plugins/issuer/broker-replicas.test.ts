import assert from 'node:assert/strict'
import { request as ask, createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { List } from 'sallyport'
import { serving } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { opened } from '#kit/listening.js'
import { Person } from '#kit/person.js'
import { brokered, HandClient } from './brokered.js'

/** One address for several gateways, which takes the next of them for each request. */
async function balancer(t: TestContext, targets: string[]) {
  let turn = 0
  const used = new Set<string>()
  const server = createServer((incoming, outgoing) => {
    const target = targets[turn++ % targets.length] ?? ''
    used.add(target)
    const { method, url, headers } = incoming
    const upstream = ask(target + url, { method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.headers)
      response.pipe(outgoing)
    })
    upstream.on('error', () => outgoing.writeHead(502).end())
    incoming.pipe(upstream)
  })
  const { port } = await opened(t, server)
  return { origin: `http://127.0.0.1:${port}`, used }
}

const withEntry = (list: List, use: string, options: object): List =>
  list.map((entry) => ('use' in entry && entry.use === use ? { ...entry, with: options } : entry))

test('a sign-in goes through three replicas with one key file and one state store', async (t) => {
  const place = folder(t)
  const state = { use: 'state/sqlite', with: { directory: join(place, 'state'), passphrase: 'x'.repeat(20) } }
  const targets: string[] = []
  const front = await balancer(t, targets)
  const first = await brokered(t, { state, front: front.origin })
  targets.push(first.address)
  for (const _ of [2, 3]) {
    const list = withEntry(first.list, 'listen/http', { address: '127.0.0.1:0' })
    const { addresses } = await serving(t, list, { folder: first.home })
    targets.push(String(addresses.main))
  }
  const client = new HandClient(front.origin)
  const person = new Person()
  const { refresh_token: token } = await client.tokens(person)
  const again = await client.refresh(token)
  assert.equal(again.status, 200)
  const code = (await client.signIn(person)).get('code') ?? ''
  const both = await Promise.all([client.redeem(code), client.redeem(code), client.redeem(code)])
  assert.equal(both.filter(({ status }) => status === 200).length, 1, 'of three replicas one takes the code')
  const next = await Promise.all([
    client.refresh(again.body['refresh_token']),
    client.refresh(again.body['refresh_token']),
  ])
  assert.deepEqual(next[0]?.body, next[1]?.body, 'two replicas give one answer to a retry')
  assert.equal(front.used.size, 3)
})
