import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin } from 'sallyport'
import { z } from 'zod'
import { booted } from '#kit/booted.js'

const route = (schema: object) =>
  definePlugin({
    name: 'own/route',
    api: 1,
    options: z.strictObject({}),
    setup: (gateway) => {
      gateway.http.get('/', { schema }, () => ({ told: 1, kept: 2 }))
    },
  })

const listOf = (schema: object) => [{ use: 'auth/anonymous' }, { use: route(schema) }]

test("a plugin's schemas are applied to requests and responses", async (t) => {
  const whole = { type: 'integer' }
  const app = await booted(
    t,
    listOf({
      headers: { type: 'object', required: ['x-a'], properties: { 'x-a': whole } },
      querystring: { type: 'object', properties: { a: whole } },
      response: { 200: { type: 'object', properties: { told: whole } } },
    }),
  )
  const ask = async (url: string, headers = {}) => (await app.inject({ url, headers })).statusCode

  assert.equal(await ask('/?a=1', { 'x-a': '1' }), 200)
  assert.equal(await ask('/?a=b', { 'x-a': '1' }), 400)
  assert.equal(await ask('/?a=1'), 400)
  assert.equal(await ask('/?a=1', { 'X-A': 'b' }), 400)
  assert.deepEqual((await app.inject({ url: '/', headers: { 'x-a': '1' } })).json(), { told: 1 })
})

test('a header schema with capital letters stops the start', async (t) => {
  const nested = { allOf: [{ properties: { 'X-A': { type: 'integer' } } }] }
  for (const headers of [nested, { type: 'object', required: ['X-A'] }]) {
    await assert.rejects(booted(t, listOf({ headers })), /"X-A".*lower case/)
  }
})
