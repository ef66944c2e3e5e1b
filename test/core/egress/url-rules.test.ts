import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failsWith, fetching, resolveToLoopback } from '#kit/egress.js'
import { listening } from '#kit/listening.js'

test('RS-23: plain http reaches only loopback, unless the operator allows it, which logs a warning', async (t) => {
  const origin = await listening(t, (_request, response) => response.end('plain'))
  const named = origin.replace('127.0.0.1', 'provider.test')
  const warnings: unknown[] = []
  const log = {
    info() {},
    warn: (...line: readonly unknown[]) => void warnings.push(line),
  }
  const strict = fetching(t, { allowPrivate: true, resolve: resolveToLoopback, log })
  const lax = fetching(t, {
    allowPrivate: true,
    allowInsecureHttp: true,
    resolve: resolveToLoopback,
    log,
  })

  const refused = await failsWith('EGRESS_INSECURE', strict.fetch(named))
  assert.match(refused.message, /SALLYPORT_INSECURE_HTTP=1/)
  assert.equal((await strict.fetch(origin)).status, 200)
  assert.equal(warnings.length, 0)
  assert.equal((await lax.fetch(named)).status, 200)
  assert.equal((await lax.fetch(named)).status, 200)
  assert.equal(warnings.length, 1)
})

test('a URL that is invalid, of another scheme or with a password is refused, and not quoted', async (t) => {
  const { fetch } = fetching(t, { allowPrivate: true })
  const urls = [
    'canary',
    'file:///canary',
    'javascript:canary',
    'https://user:canary@provider.test/',
    'https://:canary@provider.test/',
    'https://canary@provider.test/',
    'https://a b/canary',
  ]

  for (const url of urls) {
    const error = await failsWith('EGRESS_URL_INVALID', fetch(url))
    assert.doesNotMatch(`${error.message}${String(error.cause)}`, /canary/)
  }
})
