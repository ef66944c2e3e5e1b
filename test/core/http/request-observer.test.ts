import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AuditSink, definePlugin, type Gateway, Telemetry } from 'sallyport'
import { booted, recordedLog } from '#kit/booted.js'

const plugin = (name: string, setup: (gateway: Gateway) => unknown, more: object = {}) => ({
  use: definePlugin({ name, api: 1, setup: async (gateway) => void (await setup(gateway)), ...more }),
})

const closed = plugin('closed', ({ http }) => http.get('/', () => 'let in'))

test('observers that throw or reject change no response and do not end the process', async (t) => {
  const failing = plugin(
    'failing',
    (gateway) => {
      gateway.provide(Telemetry, { measure: () => Promise.reject(new Error('no')) as never })
      gateway.provide(Telemetry, {
        measure: () => {
          throw new Error('no')
        },
      })
      gateway.provide(AuditSink, () => Promise.reject(new Error('no')) as never)
    },
    { provides: [Telemetry, AuditSink] },
  )
  const app = await booted(t, [failing, closed])
  const { statusCode, headers } = await app.inject('/')

  assert.equal(statusCode, 401)
  assert.equal(headers['www-authenticate'], 'Bearer')
})

test('a request without credentials is no warning, and one with wrong ones is', async (t) => {
  const { log, lines } = recordedLog()
  const app = await booted(t, [closed], { log })
  await app.inject('/favicon.ico')
  await app.inject('/')
  await app.inject({ url: '/', headers: { authorization: 'Bearer x' } })

  const refused = lines.filter(({ msg }) => msg === 'refused')
  assert.deepEqual(
    refused.map(({ level }) => level),
    ['info', 'info', 'warn'],
  )
})
