import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Challenge, Refusal } from 'sallyport'
import { booted } from '#kit/booted.js'
import { closed, plugin, providing } from '#kit/plugin.js'

test('a challenge that fails, or is not a header value, becomes a bare one', async (t) => {
  const headers: (() => unknown)[] = [
    () => {
      throw new Error('SECRET')
    },
    () => 'Bearer x\r\nset-cookie: a=b',
    () => 'Bearer ключ',
    () => Promise.reject(new Error('no')),
    () => 7,
  ]
  for (const header of headers) {
    const challenge = providing('c', Challenge, { header } as unknown as Challenge)
    const app = await booted(t, [challenge, closed])
    const answer = await app.inject('/')
    assert.equal(answer.statusCode, 401)
    assert.equal(answer.headers['www-authenticate'], 'Bearer')
    assert.ok(!answer.body.includes('SECRET'))
  }
})

test('an error during an error reply is logged and not sent', async (t) => {
  const throwing = plugin('throwing', ({ http }) => {
    const errors = (): never => {
      throw new Error('SECRET shape')
    }
    const open = { config: { public: true } }
    http.get('/shape', { config: { public: true, errors } }, () => Promise.reject(new Error('SECRET')))
    http.get('/null', open, () => Promise.reject(null))
    http.get('/undefined', open, () => Promise.reject(undefined))
    http.get('/code', open, () =>
      Promise.reject(new Refusal(403, 7 as never, 'no', { retryAfter: 'a\r\nb' as never })),
    )
    http.get('/frozen', open, () => Promise.reject(Object.freeze(new Error('SECRET'))))
    http.get('/validation', open, () =>
      Promise.reject(Object.assign(new Error('SECRET'), { validation: [], statusCode: 400 })),
    )
    http.get('/status', open, () => Promise.reject(Object.assign(new Error('SECRET'), { statusCode: '404' })))
  })
  const app = await booted(t, [throwing])

  for (const path of ['shape', 'null', 'undefined', 'code', 'frozen', 'validation', 'status', 'nowhere']) {
    const answer = await app.inject(`/${path}`)
    assert.ok(answer.statusCode >= 400, path)
    assert.equal(answer.headers['cache-control'], 'no-store', path)
    assert.ok(!answer.body.includes('SECRET'), `${path}: ${answer.body}`)
    assert.equal(typeof answer.json().error, 'string', path)
  }
})
