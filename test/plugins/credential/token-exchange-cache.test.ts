import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { BearerToken, Credential, definePlugin, type OutgoingCredential, Telemetry } from 'sallyport'
import { isPromise } from 'sallyport/toolkit'
import { booted } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { runs } from '#kit/runs.js'
import { send } from '../forward/proxied.js'
import { bearer, bearers, exchange, exchanging, granting, tokenEndpoint } from './exchanging.js'

const now = (): number => Math.floor(Date.now() / 1000)

test('CL-27: 10,000 requests of 100 subjects cause 100 exchanges', async (t) => {
  const { endpoint, present } = await alone(
    t,
    granting(({ form }) => ({ access_token: `for-${form.get('subject_token')}` })),
  )
  // Concurrent requests share an exchange, later ones use the cache.
  for (const round of [5000, 5000]) {
    const held = await Promise.all(
      Array.from({ length: round }, async (_, index) => present(`s${index % 100}`)),
    )
    for (const [index, one] of held.entries()) assert.equal(one?.accessToken, `for-s${index % 100}`)
  }

  assert.equal(endpoint.asked.length, 100)
})

/** The credential alone, called as a forwarder calls it. */
async function alone(
  t: Parameters<typeof exchanging>[0],
  answering: Parameters<typeof exchanging>[1],
  options: Readonly<Record<string, unknown>> = {},
) {
  const endpoint = await tokenEndpoint(t, answering)
  let found: readonly Credential[] = []
  const measured: string[] = []
  await booted(t, [
    bearers,
    exchange(endpoint.url, options),
    {
      use: definePlugin({
        name: 'taking',
        api: 1,
        provides: [Telemetry],
        setup: (gateway) => {
          gateway.provide(Telemetry, {
            measure: ({ name }, _value, { outcome = '' }) => {
              if (name === 'sallyport_token_exchanges_total') measured.push(outcome)
            },
          })
          const credentials = gateway.use(Credential)
          gateway.onStart(() => {
            found = credentials()
          })
        },
      }),
    },
  ])
  const present = (
    token: string,
    expiresAt?: number,
    subject = token,
  ): OutgoingCredential | undefined | Promise<OutgoingCredential | undefined> => {
    const identity = { provider: 'test', subject, claims: {}, token, expiresAt }
    const credentials = new BearerToken(token)
    return found[0]?.present({ identity, credentials } as never, undefined)
  }
  return { endpoint, present, measured }
}

test('a cached token is returned synchronously, and counted', async (t) => {
  const { present, measured, endpoint } = await alone(t, granting({}))

  assert.ok(isPromise(present('a')))
  await present('a')
  const again = present('a')
  assert.ok(!isPromise(again))
  assert.equal(again?.value, 'Bearer new')
  assert.equal(endpoint.asked.length, 1)
  assert.deepEqual(measured, ['exchanged', 'remembered'])
})

test('failures are counted by their class, and not cached', async (t) => {
  const { present, measured, endpoint } = await alone(t, (_asked, response) => response.writeHead(500).end())

  await assert.rejects(async () => present('a'), { statusCode: 503 })
  await assert.rejects(async () => present('a'), { statusCode: 503 })
  assert.deepEqual(measured, ['unavailable', 'unavailable'])
  assert.equal(endpoint.asked.length, 2)
})

test('T16: a caller with many tokens does not block the exchanges of other callers', async (t) => {
  let hangs = true
  const held: (() => void)[] = []
  const { endpoint, present } = await alone(t, (asked, response) => {
    const grant = (): void => void granting({})(asked, response)
    if (hangs) held.push(grant)
    else grant()
  })
  const many = Promise.allSettled(
    Array.from({ length: 300 }, async (_, index) => present(`eve-${index}`, undefined, 'eve')),
  )
  await eventually(() => endpoint.asked.length >= 64 || undefined)

  const other = Promise.resolve(present('ada'))
  const [answer] = await Promise.allSettled([
    Promise.race([other, eventually(() => held.length > 64 || undefined)]),
  ])
  assert.equal(answer.status, 'fulfilled')
  assert.equal(endpoint.asked.at(-1)?.form.get('subject_token'), 'ada')

  hangs = false
  for (const grant of held) grant()
  assert.equal((await other)?.accessToken, 'new')
  const ended = await many
  assert.equal(ended.filter(({ status }) => status === 'fulfilled').length, 128, 'half of them had waited')
})

test('a new token is dropped from the cache before it expires, before its subject expires, and soon without an expiry', async (t) => {
  let expires: unknown = 300
  const { present } = await alone(
    t,
    granting(() => ({ expires_in: expires })),
  )
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const lasts = async (subject: string, ends?: number): Promise<number> => {
    await present(subject, ends)
    let seconds = 0
    while (!isPromise(present(subject, ends)) && seconds < 1000) {
      t.mock.timers.tick(1000)
      seconds++
    }
    await present(subject, ends)
    return seconds
  }
  const about = (found: number, wanted: number): void => assert.ok(Math.abs(found - wanted) <= 1, `${found}`)

  about(await lasts('a'), 270)
  about(await lasts('b', now() + 100), 70)
  expires = '120'
  about(await lasts('c'), 90)
  expires = undefined
  about(await lasts('d'), 30)
  expires = 20
  about(await lasts('e'), 10)
  expires = 0
  assert.equal(await lasts('f'), 0)
  assert.equal(await lasts('g', now() - 5), 0)
})

test('the expiry of a new token is no later than that of its subject', async (t) => {
  const { present } = await alone(t, granting({ expires_in: 300 }))
  const ends = now() + 40

  assert.equal((await present('a', ends))?.expiresAt, ends)
  const { expiresAt = 0 } = (await present('b', now() + 10_000)) ?? {}
  assert.ok(Math.abs(expiresAt - now() - 300) <= 2)
})

test('a change of the actor causes another exchange', async (t) => {
  const home = folder(t, { actor: 'actor-one' })
  const { present } = await alone(
    t,
    granting(({ form }) => ({ access_token: `by-${form.get('actor_token')}` })),
    { actorTokenFile: `${home}/actor` },
  )
  assert.equal((await present('a'))?.accessToken, 'by-actor-one')

  writeFileSync(`${home}/actor`, 'actor-two')
  await eventually(async () => ((await present('a'))?.accessToken === 'by-actor-two' ? true : undefined))
})

test('CL-27: the token of one subject is never used for another, also under concurrency', async (t) => {
  let calls = 0
  const { present } = await alone(t, (asked, response) => {
    const subject = Buffer.from(asked.form.get('subject_token') ?? '').toString('hex')
    const fate = calls++ % 5
    const answer = (): unknown =>
      fate === 3
        ? response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}')
        : granting({ access_token: `for-${subject}`, expires_in: fate === 4 ? 0 : 300 })(asked, response)
    // Responses come out of order.
    if (fate % 2 === 0) setImmediate(() => setImmediate(answer))
    else answer()
  })
  const token = fc.oneof(
    fc.constantFrom('a', 'A', 'b', 'a ', ' a', '__proto__', 'constructor', 'é', 'e\u0301'),
    fc.string({ minLength: 1, maxLength: 4 }),
  )

  await fc.assert(
    fc.asyncProperty(fc.array(token, { minLength: 1, maxLength: 20 }), async (subjects) => {
      await Promise.all(
        subjects.map(async (subject) => {
          const held = await Promise.resolve(present(subject)).catch(() => undefined)
          if (held !== undefined) {
            assert.equal(held.value, `Bearer for-${Buffer.from(subject).toString('hex')}`)
          }
        }),
      )
    }),
    { numRuns: runs(150) },
  )
})

test('through sockets too, each caller gets its own token, with one exchange for each', async (t) => {
  const { main, endpoint } = await exchanging(
    t,
    granting(({ form }) => ({ access_token: `for-${form.get('subject_token')}` })),
  )
  await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const { body } = await send(main, bearer(`s${index % 20}`))
      assert.equal(JSON.parse(body).authorization, `Bearer for-s${index % 20}`)
    }),
  )
  assert.equal(endpoint.asked.length, 20)
})
