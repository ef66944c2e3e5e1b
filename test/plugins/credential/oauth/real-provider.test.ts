import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { folder } from '#kit/folder.js'
import { freePort } from '#kit/free-port.js'
import { call, send } from '../../forward/proxied.js'
import { proxyWithLogin, signInUser } from './proxy-with-login.js'
import { browse, realLogin } from './real-provider.js'

// Longer on request, as before a release: SALLYPORT_SOAK=300 npm test -- real-provider
const SECONDS = Number(process.env['SALLYPORT_SOAK'] ?? 6)

test('against oidc-provider: one login, tokens of two seconds, rotation, two processes, and no request fails (CL-22, T15)', async (t) => {
  const { target, counts } = await realLogin(t, { life: 2 })
  const directory = folder(t)
  const { urls } = signInUser(t, browse)
  const options = { login: 'start', callbackPort: await freePort() }
  const [one, two] = await Promise.all([
    proxyWithLogin(t, target, options, { directory }),
    proxyWithLogin(t, target, options, { directory }),
  ])

  const failed: number[] = []
  let asked = 0
  for (const end = Date.now() + SECONDS * 1000; Date.now() < end; await setTimeout(20)) {
    const answers = await Promise.all([one, two].map(({ main }) => send(main, call(1))))
    asked += answers.length
    failed.push(...answers.map(({ status }) => status).filter((status) => status !== 200))
  }
  t.diagnostic(
    `${asked} requests, ${failed.length} failed, ${counts.refreshes - 1} refreshes, ${urls.length} login`,
  )
  assert.deepEqual([failed, urls.length, counts.logins, counts.refused], [[], 1, 1, 0])
  assert.ok(counts.refreshes > SECONDS / 2)
  // One process refreshes for both: more than one refresh a second would mean that both do.
  assert.ok(counts.refreshes < SECONDS * 1.7, String(counts.refreshes))
})
