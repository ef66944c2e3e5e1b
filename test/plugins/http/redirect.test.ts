import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from 'sallyport'
import { booted } from '#kit/booted.js'

test('one path redirects to another, and no other path does', async (t) => {
  const app = await booted(t, [{ use: 'http/redirect', with: { to: '/catalogue/' } }])
  for (const method of ['GET', 'HEAD'] as const) {
    const answer = await app.inject({ method, url: '/' })
    assert.deepEqual([answer.statusCode, answer.headers.location], [302, '/catalogue/'])
  }
  assert.equal((await app.inject({ method: 'POST', url: '/' })).statusCode, 401)
  assert.equal((await app.inject('/other')).statusCode, 401)
})

for (const to of [
  '//elsewhere.example',
  'https://elsewhere.example/',
  '/\\elsewhere.example',
  'catalogue',
  '/a?b',
]) {
  test(`the plugin redirects to no other host: ${to} is refused`, async (t) => {
    await assert.rejects(booted(t, [{ use: 'http/redirect', with: { to } }]), ConfigError)
  })
}
