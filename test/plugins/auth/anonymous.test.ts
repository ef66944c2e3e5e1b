import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PublicAddress } from 'sallyport'
import { booted, recordedLog } from 'sallyport/testing'
import { plugin, providing } from '#kit/plugin.js'

const whoami = plugin('whoami', ({ http }) => void http.get('/', ({ identity }) => identity))

test('every caller is accepted as anonymous with any credentials, and the log has a warning', async (t) => {
  const { log, lines } = recordedLog()
  const app = await booted(t, [{ use: 'auth/anonymous' }, whoami], { log })

  for (const headers of [{}, { authorization: 'Bearer made-up' }, { authorization: 'nonsense' }]) {
    const { statusCode, body } = await app.inject({ url: '/', headers })
    assert.equal(statusCode, 200)
    assert.deepEqual(JSON.parse(body), { provider: 'anonymous', subject: 'anonymous', claims: {} })
  }
  const warnings = lines.filter(
    ({ level, msg }) => level === 'warn' && msg === 'these scopes admit requests without credentials',
  )
  assert.equal(warnings.length, 1)

  const stdio = recordedLog()
  const speaking = plugin('speaking', () => {}, { stdout: 'protocol' })
  await booted(t, [{ use: 'auth/anonymous' }, whoami, speaking], { log: stdio.log })
  assert.deepEqual(
    stdio.lines.filter(({ level }) => level === 'warn'),
    [],
    'whoever started the process is the only one who can ask it',
  )
})

test('a list that is reachable from the internet is refused, unless `public` is set', async (t) => {
  const tunnel = providing('tunnel', PublicAddress, {
    origin: 'https://a.example',
    watch: (seen) => seen('https://a.example'),
  })
  const list = (options: object) => [{ use: 'auth/anonymous', with: options }, tunnel, whoami]

  await assert.rejects(booted(t, list({})), { code: 'CONFIG_INVALID' })
  const app = await booted(t, list({ public: true }))
  assert.equal((await app.inject('/')).statusCode, 200)
})
