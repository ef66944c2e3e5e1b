import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ConfigError, definePlugin, type Entry, GatewayError, SecretStore } from 'sallyport'
import { booted, recordedLog } from '../../kit/booted.js'
import { eventually } from '../../kit/captured-log.js'
import { listening } from '../../kit/listening.js'
import { temporaryFolder } from '../../kit/tls.js'

/** The stores of a list, as a plugin sees them. */
async function storesOf(t: TestContext, ...entries: Entry[]): Promise<readonly SecretStore[]> {
  let stores: readonly SecretStore[] = []
  const reader = definePlugin({
    name: 'reader',
    api: 1,
    setup(gateway) {
      const all = gateway.use(SecretStore)
      gateway.onStart(() => {
        stores = all()
      })
    },
  })
  await booted(t, [...entries, { use: reader }])
  return stores
}

function withVariable(t: TestContext, name: string, value: string): void {
  const before = process.env[name]
  process.env[name] = value
  t.after(() => {
    if (before === undefined) delete process.env[name]
    else process.env[name] = before
  })
}

test('a secret of the environment is found by its name in capitals, and an empty one is none', async (t) => {
  withVariable(t, 'SALLYPORT_SECRET_MY_KEY_2', 'value')
  withVariable(t, 'SALLYPORT_SECRET_EMPTY', '')
  const [store] = await storesOf(t, { use: 'secrets/environment' })

  assert.equal(await store?.get('my-key.2'), 'value')
  assert.equal(await store?.get('empty'), undefined)
  assert.equal(await store?.get('other'), undefined)
})

test('a directory holds one file for each secret, and no name leads out of it', async (t) => {
  const folder = temporaryFolder(t)
  const directory = join(folder, 'secrets')
  mkdirSync(join(directory, '..data'), { recursive: true })
  writeFileSync(join(folder, 'outside'), 'stolen')
  writeFileSync(join(directory, '..data', 'mounted'), 'as Kubernetes does\n', { mode: 0o600 })
  symlinkSync(join('..data', 'mounted'), join(directory, 'mounted'))
  const [store] = await storesOf(t, { use: 'secrets/directory', with: { path: directory } })

  assert.equal(await store?.get('mounted'), 'as Kubernetes does')
  for (const name of ['../outside', '..', '.', '', 'none', '/etc/passwd', 'a/b', 'a\0b']) {
    assert.equal(await store?.get(name), undefined, name)
  }
})

const KEEPER = (path: string, passphrase: string): Entry => ({
  use: 'secrets/encrypted-file',
  with: { path, passphrase },
})

test('an encrypted file keeps secrets over restarts, and shows neither names nor values', async (t) => {
  const path = join(temporaryFolder(t), 'deep', 'secrets')
  const [first] = await storesOf(t, KEEPER(path, 'correct horse'))
  assert.equal(await first?.get('none'), undefined)
  await first?.keeping?.set('github-token', 'ghp_value')
  await first?.keeping?.set('__proto__', 'odd')

  const [second] = await storesOf(t, KEEPER(path, 'correct horse'))
  assert.equal(await second?.get('github-token'), 'ghp_value')
  assert.equal(await second?.get('toString'), undefined)
  assert.deepEqual(await second?.keeping?.delete('none'), false)
  assert.equal(await second?.keeping?.delete('github-token'), true)
  assert.equal(await second?.get('github-token'), undefined)

  const text = readFileSync(path, 'utf8')
  assert.doesNotMatch(text, /github|ghp_value/)
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('another passphrase, a changed byte and another file are told apart from an empty store', async (t) => {
  const path = join(temporaryFolder(t), 'secrets')
  const [store] = await storesOf(t, KEEPER(path, 'correct horse'))
  await store?.keeping?.set('name', 'value')
  const good = JSON.parse(readFileSync(path, 'utf8'))

  const [stranger] = await storesOf(t, KEEPER(path, 'wrong'))
  await assert.rejects(async () => stranger?.get('name'), GatewayError)
  await assert.rejects(async () => stranger?.keeping?.set('name', 'other'), GatewayError)
  for (const field of ['salt', 'iv', 'tag', 'data']) {
    const bytes = Buffer.from(good[field], 'base64')
    bytes[0] = (bytes[0] ?? 0) ^ 1
    writeFileSync(path, JSON.stringify({ ...good, [field]: bytes.toString('base64') }))
    await assert.rejects(async () => store?.get('name'), { code: 'SECRETS_SEALED' }, field)
  }
  for (const broken of [
    '',
    '{}',
    JSON.stringify({ ...good, cost: 2 ** 30 }),
    JSON.stringify({ ...good, tag: '' }),
  ]) {
    writeFileSync(path, broken)
    await assert.rejects(async () => store?.get('name'), GatewayError)
  }
})

test('a missing passphrase is asked for only when the file is there', async (t) => {
  const path = join(temporaryFolder(t), 'secrets')
  const [store] = await storesOf(t, { use: 'secrets/encrypted-file', with: { path } })
  assert.equal(await store?.get('name'), undefined)
  writeFileSync(path, '{}')
  await assert.rejects(async () => store?.get('name'), { code: 'PASSPHRASE_MISSING' })
})

test('headers get their secrets from the first store that has them', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'token'), 'from the directory')
  writeFileSync(join(folder, 'both'), 'from the directory')
  chmodSync(folder, 0o700)
  withVariable(t, 'SALLYPORT_SECRET_BOTH', 'from the environment')
  const { log, lines, scrubber } = recordedLog()
  const app = await booted(
    t,
    [
      { use: 'auth/anonymous' },
      { use: 'secrets/environment' },
      { use: 'secrets/directory', with: { path: folder } },
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

test('a header follows the file of its secret, and keeps the last value that can stand in one', async (t) => {
  const mounted = temporaryFolder(t)
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
  await eventually(() => lines.find(({ msg }) => String(msg).includes('its last value is kept')))

  assert.equal(await sent(), 'second')
  log.warn('second is known')
  assert.doesNotMatch(JSON.stringify(lines), /second|X-Evil/)
})

test('a secret that nobody has stops the start, with everybody who was asked and no value', async (t) => {
  withVariable(t, 'SALLYPORT_SECRET_BENT', 'a\r\nX-Evil: 1')
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
