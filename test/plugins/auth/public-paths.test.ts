import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booted } from 'sallyport/testing'
import { plugin } from '#kit/plugin.js'

test('a listed path and all paths below it are public, and no other path is', async (t) => {
  const routes = plugin('routes', ({ http }) => {
    for (const path of ['/a', '/a/:name', '/ab', '/b']) http.get(path, () => 'open')
  })
  const app = await booted(t, [{ use: 'auth/public-paths', with: { paths: ['/a/'] } }, routes])
  const status = async (path: string) => (await app.inject(path)).statusCode

  for (const path of ['/a', '/a/x', '/a?b']) assert.equal(await status(path), 200, path)
  for (const path of ['/ab', '/b', '/A', '/']) assert.equal(await status(path), 401, path)
})

test('a path that is not plain stops the start', async (t) => {
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
