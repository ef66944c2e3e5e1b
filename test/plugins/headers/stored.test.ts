import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError, type Entry, SecretStore } from 'sallyport'
import { booted, recordedLog } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { providing } from '#kit/plugin.js'
import { variables } from '#kit/variables.js'

test('headers get their secrets from the first store that has them', async (t) => {
  const place = folder(t)
  writeFileSync(join(place, 'token'), 'from the directory')
  writeFileSync(join(place, 'both'), 'from the directory')
  chmodSync(place, 0o700)
  variables(t, { SALLYPORT_SECRET_BOTH: 'from the environment' })
  const { log, lines, scrubber } = recordedLog()
  const app = await booted(
    t,
    [
      { use: 'auth/anonymous' },
      { use: 'secrets/environment' },
      { use: 'secrets/directory', with: { path: place } },
      {
        use: 'headers/stored',
        with: {
          headers: [
            { name: 'X-A', secret: 'token' },
            { name: 'X-B', secret: 'both' },
          ],
        },
      },
    ],
    { log, scrubber },
  )
  app.log.warn('from the directory it came')
  assert.ok(!JSON.stringify(lines).includes('from the directory'))
})

test('a header follows the file of its secret, and keeps the last valid value', async (t) => {
  const mounted = folder(t)
  const put = (generation: string, value: string): void => {
    // As the kubelet does it.
    mkdirSync(join(mounted, generation))
    writeFileSync(join(mounted, generation, 'token'), value, { mode: 0o600 })
    symlinkSync(generation, join(mounted, 'next'))
    renameSync(join(mounted, 'next'), join(mounted, '..data'))
  }
  put('..1', 'first\n')
  symlinkSync(join('..data', 'token'), join(mounted, 'token'))
  const target = await listening(t, ({ headers }, response) => response.end(headers['x-key']))
  const { log, lines, scrubber } = recordedLog()
  const app = await booted(
    t,
    [
      { use: 'auth/anonymous' },
      { use: 'secrets/directory', with: { path: mounted } },
      { use: 'headers/stored', with: { headers: [{ name: 'X-Key', secret: 'token' }] } },
      { use: 'forward/http', with: { target } },
    ],
    { log, scrubber },
  )
  const sent = async () => (await app.inject('/')).body
  assert.equal(await sent(), 'first')

  put('..2', 'second\n')
  await eventually(async () => ((await sent()) === 'second' ? true : undefined))
  put('..3', 'third\r\nX-Evil: 1')
  await eventually(() =>
    lines.find(({ msg }) => String(msg).includes('is not a valid header value; the gateway keeps')),
  )

  assert.equal(await sent(), 'second')
  log.warn('second is known')
  assert.doesNotMatch(JSON.stringify(lines), /second|X-Evil/)
})

test('a secret that changes during the look-up of another one is sent with its new value', async (t) => {
  let value = 'old'
  const vault = providing('secrets/vault', SecretStore, {
    name: 'vault',
    async get(name) {
      if (name === 'key') return value
      value = 'new'
      return 'other'
    },
    watch: () => () => {},
  })
  const target = await listening(t, ({ headers }, response) => response.end(headers['x-key']))
  const headers = [
    { name: 'X-Key', secret: 'key' },
    { name: 'X-Other', secret: 'other' },
  ]
  const app = await booted(t, [
    { use: 'auth/anonymous' },
    vault,
    { use: 'headers/stored', with: { headers } },
    { use: 'forward/http', with: { target } },
  ])
  assert.equal((await app.inject('/')).body, 'new')
})

test('a secret that no store has stops the start, and the message names the stores and no value', async (t) => {
  variables(t, { SALLYPORT_SECRET_BENT: 'a\r\nX-Evil: 1' })
  const list: Entry[] = [
    { use: 'secrets/environment' },
    { use: 'secrets/keyring', with: { service: 'sallyport-test' } },
    {
      use: 'headers/stored',
      with: {
        headers: [
          { name: 'X-A', secret: 'none' },
          { name: 'X-B', secret: 'bent' },
        ],
      },
    },
  ]
  await assert.rejects(booted(t, list), (error) => {
    assert.ok(error instanceof ConfigError)
    assert.equal(error.problems.length, 2)
    assert.match(error.message, /environment.*keyring/)
    assert.doesNotMatch(error.message, /X-Evil/)
    return true
  })
})

test('an empty file of a secret stops the start, and the message names the directory', async (t) => {
  const path = folder(t)
  writeFileSync(join(path, 'key'), '\n', { mode: 0o600 })
  const list: Entry[] = [
    { use: 'secrets/directory', with: { path } },
    { use: 'headers/stored', with: { headers: [{ name: 'X-Key', secret: 'key' }] } },
  ]
  await assert.rejects(booted(t, list), (error) => {
    assert.ok(error instanceof ConfigError)
    assert.equal(error.problems.length, 1)
    assert.ok(error.message.includes(`directory ${path}`), error.message)
    assert.match(error.message, /"key".*it is empty$/)
    return true
  })
})
