import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Authenticator, type Entry } from 'sallyport'
import { booted, recordedLog } from 'sallyport/testing'
import { providing } from '#kit/plugin.js'
import { fileRegistry, server } from '../registry/registry.js'

const accepting = (open: unknown): Entry =>
  providing('accepting', Authenticator, {
    provider: 'theirs',
    ...Object({ open }),
    authenticate: () => ({ identity: { provider: 'theirs', subject: 'anybody', claims: {} } }),
  })

const open: Readonly<Record<string, Entry>> = {
  'auth/anonymous': { use: 'auth/anonymous' },
  'an open authenticator of a third party': accepting(true),
}
const asking: Readonly<Record<string, Entry>> = {
  'an authenticator that does not say it is open': accepting(undefined),
  'an authenticator whose `open` is a text': accepting('true'),
}

async function bootedWith(t: TestContext, entries: readonly Entry[]) {
  const { log, lines } = recordedLog()
  const app = await booted(t, entries, { log })
  return { app, messages: lines.map(({ msg }) => msg) }
}

const OPEN = 'these scopes admit requests without credentials'
const SENT_ON = "callers' tokens are forwarded to the target, whose operator can use them at this gateway"
const forward = { use: 'forward/http', with: { target: 'http://127.0.0.1:9/', forwardAuthorization: true } }
const exchange = {
  use: 'credential/token-exchange',
  with: { url: 'https://idp.example/token', clientId: 'gateway' },
}

async function registryWith(t: TestContext, entry: Entry) {
  const { list } = fileRegistry(t, [server('a.example/one', '1.0.0')])
  const entries = list.map(({ use, ...rest }): Entry => {
    if (use === 'auth/anonymous') return entry
    return use === 'registry/api' || use === 'registry/openapi' ? { use } : { use, ...rest }
  })
  const app = await booted(t, [...entries, { use: 'pages/browse' }])
  const [home, servers, description] = await Promise.all(
    ['/', '/registry/default/v0.1/servers', '/openapi.json'].map((url) => app.inject(url)),
  )
  const { paths } = JSON.parse(description?.body ?? '{}')
  return {
    named: home?.body.includes('/registry/default"'),
    cache: servers?.headers['cache-control'],
    security: paths['/registry/{registry}/v0.1/servers']?.get?.security,
  }
}

for (const [what, entry] of Object.entries(open)) {
  test(`the log warns of ${what}, and no caller needs a token there`, async (t) => {
    const { messages } = await bootedWith(t, [entry, forward])
    assert.equal(messages.filter((message) => message === OPEN).length, 1)
    assert.ok(!messages.includes(SENT_ON))
    await assert.rejects(booted(t, [entry, exchange]), { code: 'CONFIG_INVALID' })
  })

  test(`behind ${what} a registry is public`, async (t) => {
    const found = await registryWith(t, entry)
    assert.deepEqual(found, { named: true, cache: 'public, max-age=30', security: [] })
  })
}

for (const [what, entry] of Object.entries(asking)) {
  test(`${what} counts as an authenticator that requires credentials`, async (t) => {
    const { messages } = await bootedWith(t, [entry, forward])
    assert.ok(!messages.includes(OPEN))
    assert.ok(messages.includes(SENT_ON))
    await booted(t, [entry, exchange])
    const found = await registryWith(t, entry)
    assert.deepEqual(found, { named: false, cache: 'private, no-cache', security: [{ bearer: [] }] })
  })
}
