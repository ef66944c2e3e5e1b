import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { issuing } from '#kit/issuer.js'
import { API, PLATFORM, publishable, publishingProgram, publishTo } from './publishing-program.js'

const MIB = 1024 * 1024
// Of which the first warm up what grows once: caches, compiled code, the heap.
const WARM_UP = 2_000
const REQUESTS = 3_000
const AT_ONCE = 20

const path = fc.oneof(
  fc.constantFrom(
    '/publish',
    '/validate',
    '/auth/github-oidc',
    '/auth/oidc',
    '/servers/com.example%2Faa/status',
  ),
  fc.constant('/servers/com.example%2Faa/versions/1.0.0/status'),
  fc.webPath(),
)

const body = fc.oneof(
  fc.json(),
  fc.string({ unit: 'binary' }).map((text) => `{"name":${JSON.stringify(text)},"version":"1.0.0"}`),
  fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)),
  fc.nat({ max: 200 }).map((depth) => '['.repeat(depth * 100)),
  fc.string().map((token) => JSON.stringify({ oidc_token: token })),
  fc.constant(`{"name":"com.example/aa","version":"1.0.0","description":"${'x'.repeat(300_000)}"}`),
  fc.json().map((value) => JSON.stringify({ ...publishable('com.example/aa', '1.0.0'), x: value })),
)

const token = fc.oneof(
  fc.base64String({ maxLength: 400 }),
  fc
    .array(fc.base64String({ minLength: 4, maxLength: 80 }), { minLength: 3, maxLength: 3 })
    .map((parts) => parts.join('.')),
)

const garbage = fc.record({
  method: fc.constantFrom('POST', 'POST', 'PATCH', 'DELETE', 'PUT'),
  path,
  body,
  /** None: that of a publisher, who sends garbage too. */
  token: fc.option(token, { freq: 2 }),
  type: fc.constantFrom('application/json', 'text/plain', 'multipart/form-data; boundary=x'),
})

test('a caller that sends garbage leaves no memory, no descriptor, no file, and nothing that is served', async (t) => {
  const issuer = await issuing(t)
  const { process, origin, home } = await publishingProgram(t, issuer)
  const own = await issuer.jwt(PLATFORM)
  const { pid } = process.process
  const state = () => ({
    memory: Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    files: readdirSync(home, { recursive: true, encoding: 'utf8' }).toSorted(),
  })
  const samples = fc.sample(garbage, 500)
  const sendAll = async (count: number): Promise<void> => {
    let next = 0
    const sending = Array.from({ length: AT_ONCE }, async () => {
      while (next < count) {
        const each = samples[next++ % samples.length] ?? assert.fail('no sample')
        const response = await fetch(origin + API + each.path, {
          method: each.method,
          headers: { authorization: `Bearer ${each.token ?? own}`, 'content-type': each.type },
          body: each.body,
        })
        await response.arrayBuffer()
        assert.ok(
          response.status >= 400 ? response.status < 500 : each.path === '/validate',
          `${response.status}`,
        )
      }
    })
    await Promise.all(sending)
  }

  const good = await publishTo(origin, own, publishable('com.example/good', '1.0.0'))
  assert.equal(good.status, 200, await good.text())
  await sendAll(WARM_UP)
  const before = state()
  await sendAll(REQUESTS)
  const after = state()

  t.diagnostic(`${Math.round((after.memory - before.memory) / MIB)} MiB`)
  assert.ok(after.memory - before.memory < 48 * MIB, `${(after.memory - before.memory) / MIB} MiB more`)
  assert.ok(after.descriptors <= before.descriptors + AT_ONCE, `${after.descriptors} descriptors`)
  assert.deepEqual(after.files, before.files)
  const list = await fetch(`${origin}${API}/servers`, {
    headers: { authorization: `Bearer ${await issuer.jwt()}` },
  })
  const { servers } = (await list.json()) as { servers: { server: { name: string } }[] }
  assert.deepEqual(
    servers.map(({ server }) => server.name),
    ['com.example/good'],
  )
})
