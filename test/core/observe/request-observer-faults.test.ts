import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyReply } from 'fastify'
import {
  AuditSink,
  Authenticator,
  definePlugin,
  type Gateway,
  Refusal,
  type RefusalReason,
  Tracer,
} from 'sallyport'
import { recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen, providing } from '#kit/plugin.js'

const REPORT_FAILED = 'an ended request was not audited, measured or traced in full'

/** Takes every token as a subject; the claims of `odd` throw when they are read after admission. */
const accepting = providing('accepting', Authenticator, {
  provider: 'corp',
  authenticate({ credentials }) {
    const subject = credentials.kind === 'bearer' ? credentials.token : 'nobody'
    if (subject !== 'odd') return { identity: { provider: 'corp', subject, claims: {} } }
    const claims = {
      get act(): string {
        throw new Error('no')
      },
    }
    return { identity: { provider: 'corp', subject, claims } }
  },
})

function routes(setup: (gateway: Gateway) => void) {
  return { use: definePlugin({ name: 'routes', api: 1, setup }) }
}

const by = (subject: string) => ({ headers: { authorization: `Bearer ${subject}` } })

test('a request that cannot be audited does not affect the others of its batch, nor later ones', async (t) => {
  const audited: (string | undefined)[] = []
  const auditing = providing('auditing', AuditSink, ({ subject }) => void audited.push(subject))
  const waiting: FastifyReply[] = []
  const routed = routes(({ http }) => {
    http.get('/', () => 'let in')
    http.get('/held', (_request, reply) => {
      waiting.push(reply)
    })
  })
  const { log, lines } = recordedLog()
  const list = [listen, auditing, accepting, routed]
  const { main } = (await serving(t, list, { log })).addresses
  const asked = async (path: string, subject: string): Promise<number> => {
    const response = await fetch(`${main}${path}`, by(subject))
    await response.text()
    return response.status
  }

  const held = asked('/held', 'ann')
  await eventually(() => waiting.length === 1)
  assert.equal(await asked('/', 'odd'), 200)
  assert.equal(await asked('/', 'bob'), 200)
  waiting[0]?.send('at last')
  assert.equal(await held, 200)
  await eventually(() => audited.length === 2)
  assert.equal(await asked('/', 'cem'), 200)
  await eventually(() => audited.length === 3)

  assert.deepEqual(new Set(audited), new Set(['ann', 'bob', 'cem']))
  assert.equal(lines.filter(({ msg }) => msg === REPORT_FAILED).length, 1)
})

test('a fault at the end of a sampled trace is logged, and does not affect the next request', async (t) => {
  const ended: number[] = []
  const tracing = providing('tracing', Tracer, {
    start: () => ({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      sampled: true,
      headers: [],
      part() {},
      end: ({ status }) => void ended.push(status),
    }),
  })
  const reasons: RefusalReason[] = [{ provider: 'corp', cause: 'signature' }]
  const routed = routes(({ http }) => {
    http.get('/', () => 'let in')
    http.get('/refused', (_request, reply) => {
      // Like a plugin that reuses one list for its next refusal.
      reply.raw.once('finish', () => Reflect.set(reasons, 0, undefined))
      throw new Refusal(403, 'NO', 'no', { reasons })
    })
  })
  const { log, lines } = recordedLog()
  const list = [listen, tracing, accepting, routed]
  const { main } = (await serving(t, list, { log })).addresses

  assert.equal((await fetch(`${main}/refused`, by('ann'))).status, 403)
  await eventually(() => lines.some(({ msg }) => msg === REPORT_FAILED))
  assert.equal((await fetch(`${main}/`, by('ann'))).status, 200)
  await eventually(() => ended.length === 1)
  assert.deepEqual(ended, [200])
})
