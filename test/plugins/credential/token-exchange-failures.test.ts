import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { closedPort } from '#kit/listening.js'
import { runs } from '#kit/runs.js'
import { call, send } from '../forward/proxied.js'
import {
  bearer,
  bearers,
  echo,
  exchange,
  exchanging,
  gatewayOf,
  granting,
  refusing,
  tokenEndpoint,
} from './exchanging.js'

const CANARY = 'canary-of-the-provider'
const SECRET = 'canary-of-the-client'
const SUBJECT = 'canary-of-the-caller'

type Answering = Parameters<typeof exchanging>[1]

const text =
  (status: number, type: string, body: string): Answering =>
  (_asked, response) =>
    response.writeHead(status, { 'content-type': type }).end(body)

const oauth = (error: string, status = 400): readonly [string, Answering] => [
  `${status} ${error}`,
  refusing(status, { error, error_description: CANARY, error_uri: CANARY }),
]

const refused = [
  oauth('invalid_grant'),
  oauth('invalid_request'),
  oauth('access_denied', 403),
  oauth('interaction_required'),
  oauth(CANARY),
]
const operators = [
  oauth('invalid_client', 401),
  oauth('invalid_client'),
  oauth('unauthorized_client'),
  oauth('unsupported_grant_type'),
  oauth('invalid_target'),
  oauth('invalid_scope'),
  ['401 without a code', refusing(401, {})],
  ['404 of a web server', text(404, 'text/html', CANARY)],
] as const
const passing = [
  ['500', refusing(500, { error: 'invalid_grant', error_description: CANARY })],
  ['503 in HTML', text(503, 'text/html', CANARY)],
  oauth('temporarily_unavailable'),
  ['429', refusing(429, { error: CANARY })],
  ['a connection that is closed', (_asked, response) => response.destroy()],
] as const satisfies readonly (readonly [string, Answering])[]
const malformed: readonly (readonly [string, Answering])[] = [
  ['HTML', text(200, 'text/html', `<p>${CANARY}`)],
  ['a form, as once was usual', text(200, 'application/x-www-form-urlencoded', `access_token=${CANARY}`)],
  ['JSON of another type', text(200, 'text/plain', '{"access_token":"a","token_type":"Bearer"}')],
  ['no JSON', text(200, 'application/json', `{"access_token":"${CANARY}`)],
  ['an array', text(200, 'application/json', '[1]')],
  ['null', text(200, 'application/json', 'null')],
  ['nothing', text(204, 'application/json', '')],
  ['201', text(201, 'application/json', '{"access_token":"a","token_type":"Bearer"}')],
  ['a redirect', (_asked, response) => response.writeHead(307, { location: '/elsewhere' }).end()],
  ['a huge answer', granting({ access_token: 'x'.repeat(100_000) })],
  ['no token', granting({ access_token: undefined })],
  ['a token that is no text', granting({ access_token: 7 })],
  ['an empty token', granting({ access_token: '' })],
  ['a token that ends its header', granting({ access_token: `${CANARY}\r\nx-admin: yes` })],
  ['a token with a space', granting({ access_token: `${CANARY} b` })],
  ['a token that is not ASCII', granting({ access_token: 'é' })],
  ['no token_type', granting({ token_type: undefined })],
  ['N_A', granting({ token_type: 'N_A' })],
  ['a token for a key', granting({ token_type: 'DPoP' })],
  ['no issued_token_type', granting({ issued_token_type: undefined })],
  ['an ID token', granting({ issued_token_type: 'urn:ietf:params:oauth:token-type:id_token' })],
  ['a refresh token', granting({ issued_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' })],
  ['a negative lifetime', granting({ expires_in: -1 })],
  ['a lifetime in words', granting({ expires_in: 'soon' })],
  ['a lifetime of null', granting({ expires_in: null })],
]

const classes: readonly (readonly [readonly (readonly [string, Answering])[], number, string])[] = [
  [refused, 401, 'invalid_token'],
  [operators, 502, 'exchange_failed'],
  [passing, 503, 'exchange_unavailable'],
  [malformed, 502, 'exchange_failed'],
]
for (const [group, status, code] of classes) {
  for (const [name, answering] of group) {
    test(`CL-26: ${name} is ${status}, the target gets no request, and nothing of the response is shown`, async (t) => {
      const { main, target, lines } = await exchanging(t, answering, {
        clientId: 'gateway',
        clientSecret: SECRET,
      })

      const answer = await send(main, { ...call(7), headers: bearer(SUBJECT).headers })
      assert.equal(answer.status, status)
      const { id, error } = JSON.parse(answer.body)
      assert.deepEqual([id, error.data.error], [7, code])
      assert.equal(answer.headers['www-authenticate'], status === 401 ? 'Bearer' : undefined)
      assert.equal(answer.headers['retry-after'], status === 503 ? '5' : undefined)
      assert.equal(target.seen.length, 0)
      const shown = JSON.stringify([answer, lines])
      for (const canary of [CANARY, SECRET, SUBJECT]) assert.ok(!shown.includes(canary), canary)
      // The log has one error for a fault that the operator has to correct.
      const errors = lines.filter(({ level, reason }) => level === 'error' && reason !== undefined)
      assert.equal(errors.length, status === 502 ? 1 : 0)
    })
  }
}

test('only the log has the text of an error response, without anything that may be a token', async (t) => {
  const error_description = `Nobody is known as ${CANARY}`
  for (const [error, logged] of [
    ['invalid_client', 'secret is wrong (Nobody is known as ...)'],
    ['invalid_request', 'refused: invalid_request (Nobody is known as ...)'],
  ] as const) {
    const { main, lines } = await exchanging(t, refusing(400, { error, error_description }))
    const answer = await send(main, bearer(SUBJECT))
    assert.ok(JSON.stringify(lines).includes(logged), JSON.stringify(lines))
    assert.ok(!JSON.stringify([answer, lines]).includes(CANARY))
    assert.ok(!answer.body.includes('Nobody'))
  }
})

for (const [error, words, code] of [
  ['invalid_request', `Requested audience not available: ${CANARY}`, 'invalid_target'],
  ['invalid_client', 'Audience not found', 'invalid_target'],
  [
    'invalid_request',
    'Standard token exchange is not enabled for the requested client',
    'unauthorized_client',
  ],
] as const) {
  test(`${error} of Keycloak in the words "${words}" is ${code}, which the operator has to correct`, async (t) => {
    const { main, lines } = await exchanging(t, refusing(400, { error, error_description: words }))

    const answer = await send(main, { ...call(7), headers: bearer(SUBJECT).headers })
    assert.equal(answer.status, 502)
    assert.equal(JSON.parse(answer.body).error.data.error, 'exchange_failed')
    const errors = lines.filter(({ level, reason }) => level === 'error' && reason !== undefined)
    assert.match(String(errors[0]?.['reason']), new RegExp(`failed: ${code}: `))
    assert.ok(!JSON.stringify([answer, lines]).includes(CANARY))
  })
}

test('an endpoint that is down causes 503 and one log line, and exchanges go on when it is back', async (t) => {
  let up = false
  const { main, lines } = await exchanging(t, (asked, response) => {
    if (up) granting({})(asked, response)
    else response.destroy()
  })
  for (const _ of [1, 2, 3]) assert.equal((await send(main, bearer('mine'))).status, 503)
  up = true
  assert.equal((await send(main, bearer('mine'))).status, 200)

  const logged = lines.filter(({ msg }) => String(msg).startsWith('tokens can'))
  assert.deepEqual(
    logged.map(({ level }) => level),
    ['warn', 'info'],
  )
})

test('an endpoint where no server listens causes a 503', async (t) => {
  const target = await echo(t)
  const { main } = await gatewayOf(t, target.origin, [bearers, exchange(`${await closedPort()}/token`)])

  const { status, headers } = await send(main, bearer('mine'))
  assert.deepEqual([status, headers['retry-after'], target.seen.length], [503, '5', 0])
})

test('Retry-After of the endpoint is passed on, within bounds', async (t) => {
  for (const [said, heard] of [
    ['17', '17'],
    ['0', '1'],
    ['999999', '300'],
    ['Wed, 21 Oct 2026 07:28:00 GMT', '5'],
  ] as const) {
    const { main } = await exchanging(t, refusing(503, {}, { 'retry-after': said }))
    assert.equal((await send(main, bearer('mine'))).headers['retry-after'], heard)
  }
})

test('T2: a literal private address is refused at the start unless it is allowed', async (t) => {
  const endpoint = await tokenEndpoint(t, granting({}))
  const target = await echo(t)
  const list = [bearers, exchange(endpoint.url, { allowPrivateIP: false })]

  await assert.rejects(gatewayOf(t, target.origin, list), /allowPrivateIP .*: is needed/)
  assert.deepEqual([endpoint.asked.length, target.seen.length], [0, 0])
})

test('for every response of an endpoint, the target gets one well-formed header or no request', async (t) => {
  let fields: Readonly<Record<string, unknown>> = {}
  let status = 200
  let subjects = 0
  const { main, target } = await exchanging(t, (asked, response) => {
    if (status === 200) granting(fields)(asked, response)
    else refusing(status, fields)(asked, response)
  })
  const value = fc.oneof(
    fc.constant('Bearer'),
    fc.string({ unit: 'binary' }),
    fc.jsonValue(),
    fc.constant('urn:ietf:params:oauth:token-type:access_token'),
  )
  const answers = fc.dictionary(
    fc.constantFrom('access_token', 'token_type', 'issued_token_type', 'expires_in', 'error'),
    value,
  )

  await fc.assert(
    fc.asyncProperty(answers, fc.constantFrom(200, 200, 200, 400, 401, 500), async (given, code) => {
      fields = given
      status = code
      const before = target.seen.length
      const answer = await send(main, bearer(`s${subjects++}`))
      const seen = target.seen.slice(before)
      if (answer.status === 200) {
        assert.match(seen[0]?.authorization ?? '', /^Bearer [\x21-\x7e]+$/)
      } else {
        assert.ok([401, 502, 503].includes(answer.status), String(answer.status))
        assert.equal(seen.length, 0)
      }
    }),
    { numRuns: runs(300) },
  )
})
