import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorFields, requestFields, responseFields } from '#core/log/serializers.js'

test('the log has a request without its query and headers, and the status of a response', () => {
  const request = { id: 1, method: 'GET', url: '/a/b?token=x', headers: { cookie: 'x' } }
  assert.deepEqual(requestFields({ ...request, routeOptions: { url: '/a/:name' } }), {
    id: 1,
    method: 'GET',
    path: '/a/b',
    route: '/a/:name',
  })
  assert.deepEqual(responseFields({ statusCode: 401 }), { statusCode: 401 })
})

test('circular causes and nested AggregateErrors are cut', () => {
  const circle: Error = new AggregateError([new TypeError('inner')], 'outer')
  circle.cause = circle
  const text = JSON.stringify(errorFields(false)(circle))
  assert.match(text, /"type":"TypeError".*"message":"inner"/)
  assert.ok(text.length < 10_000)
  assert.equal(errorFields(false)('no error'), 'no error')
})
