import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { measurements } from '#kit/measurements.js'
import { call, proxied, send } from '../forward/proxied.js'
import { startAuthorizationServer } from './oauth/authorization-server.js'
import { loginEntries, signInUser } from './oauth/proxy-with-login.js'

const NEEDED = 'sallyport_login_needed'
const atMcp = { ...call(1), path: '/' }

test('the metric `login_needed` is 1 from the begin of a login until the user has signed in, and 0 after a restart', async (t) => {
  const server = await startAuthorizationServer(t)
  const page = signInUser(t, () => {})
  const directory = folder(t)
  const { entry, last } = measurements()
  const entries = loginEntries({ target: server.target }, { directory })
  const { main, running } = await proxied(t, server.target, {}, [entry, ...entries])
  assert.equal(last(NEEDED), undefined)
  const waiting = send(main, atMcp)
  const url = await page.next()
  assert.equal(last(NEEDED), 1)
  await fetch(url)
  assert.equal((await waiting).status, 200)
  assert.equal(last(NEEDED), 0)
  await running.stop(0)

  const again = measurements()
  await proxied(t, server.target, {}, [again.entry, ...entries])
  assert.equal(await eventually(() => again.last(NEEDED)), 0)
})

test('the metric `login_needed` stays 1 after a failed login', async (t) => {
  const server = await startAuthorizationServer(t)
  signInUser(t, () => {})
  const { entry, last } = measurements()
  const entries = loginEntries({ target: server.target, timeout: '300ms' })
  const { main } = await proxied(t, server.target, {}, [entry, ...entries])
  assert.equal((await send(main, atMcp)).status, 503)
  assert.equal(last(NEEDED), 1)
})
