import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOwnCookie, ownCookie } from 'sallyport/toolkit'

test('the gateway recognizes its cookies by their names, as browsers read them', () => {
  const name = ownCookie('session-0a')
  for (const pair of [
    name,
    `${name}=x`,
    ` __Host-${name}=x; Path=/`,
    `__secure-${name.toUpperCase()}`,
    `=${name}=x`,
  ])
    assert.equal(isOwnCookie(pair), true, pair)
  for (const pair of ['a=1', `a=${name}`, `x${name}=1`, '']) assert.equal(isOwnCookie(pair), false, pair)
})
