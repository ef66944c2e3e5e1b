import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booted } from '../../kit/index.js'

test('a path that is no plain path stops the start', async (t) => {
  for (const wrong of [
    '/',
    '',
    'x',
    '//',
    '/x//y',
    '/a/../b',
    '/a/.',
    '/a?b',
    '/a%2fb',
    '/a*',
    '/:name',
    '/a b',
  ]) {
    const list = [{ use: 'auth/public-paths', with: { paths: [wrong] } }]
    await assert.rejects(booted(t, list), { code: 'CONFIG_INVALID' }, wrong)
  }
  await booted(t, [
    { use: 'auth/public-paths', with: { paths: ['/registry/public/', '/.well-known', '/a.b~c_d-e'] } },
  ])
})
