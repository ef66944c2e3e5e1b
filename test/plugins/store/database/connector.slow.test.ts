import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { noPostgres, PASSWORD, PostgresCluster } from '#kit/postgres.js'
import { authority } from '#kit/tls.js'
import { asking, opening, started } from './opening.js'

const cluster = new PostgresCluster()
const skip = noPostgres ?? false

test('a password that changes in its file is used without a restart, and is never logged', {
  skip,
}, async (t) => {
  const test = await cluster.database()
  const urlFile = join(folder(t), 'url')
  writeFileSync(urlFile, `${test.url}\n`)
  const { database, lines } = await started(t, { urlFile })
  await test.query(`alter role ${test.name} password 'second-secret'`)
  await cluster.terminateBackends(test)
  await eventually(() => /refused the user or the password/.test(database.health().reason ?? ''))
  writeFileSync(urlFile, `${test.url.replace(encodeURIComponent(PASSWORD), 'second-secret')}\n`)
  await eventually(() => database.health().status === 'ok')
  await database.locked('key', async () => {})
  assert.doesNotMatch(JSON.stringify(lines), /pass-of|second-secret/)
})

test('with TLS, the certificate must be of the authority and of the host', { skip }, async (t) => {
  const test = await cluster.database()
  const plain = await opening(t, { url: `${test.url}?sslmode=require` })
  await plain.database.start()
  assert.match(plain.database.health().reason ?? '', /does not speak TLS/)

  const ours = authority(t)
  await cluster.secure(ours.issue(['127.0.0.1']))
  const { database } = await started(t, { url: test.url, caCertPath: ours.file })
  const [row] = await asking(database, 'select ssl from pg_stat_ssl where pid = pg_backend_pid()')
  assert.deepEqual(row, { ssl: true })
  await database.locked('key', async () => {})

  const unverified = [
    [{ url: `${test.url}?sslmode=require` }, /not trusted/],
    [{ url: test.url, caCertPath: authority(t).file }, /not trusted/],
    [{ url: test.url.replace('127.0.0.1', 'localhost'), caCertPath: ours.file }, /for another host name/],
  ] as const
  for (const [options, reason] of unverified) {
    const refused = await opening(t, options)
    await refused.database.start()
    assert.match(refused.database.health().reason ?? '', reason)
  }
})

test('invalid connection options are refused before any connection', async (t) => {
  const place = folder(t, { url: 'http://u:SECRET@h/d', ca: 'none' })
  const refused: readonly (readonly [object, RegExp])[] = [
    [{ urlFile: join(place, 'url') }, /expected a URL such as postgres/],
    [{ urlFile: join(place, 'missing') }, /cannot read/],
    [{ url: 'postgres://h/d', caCertPath: join(place, 'ca') }, /expected PEM certificates/],
    [{ url: 'mysql://u:SECRET@h/d' }, /expected a URL such as postgres/],
    [{}, /expected `url` or `urlFile`/],
    [{ url: 'postgres://h/d', urlFile: 'x' }, /one of them/],
    [{ url: 'postgres://h/d', schema: 'a"b' }, /lower-case letters/],
    [{ url: 'postgres://h/d', schema: 'pg_mine' }, /reserved/],
  ]
  for (const [options, reason] of refused) {
    const message = await opening(t, { ...options }).then(
      () => assert.fail(`it opened ${JSON.stringify(options)}`),
      (error: unknown) => String(error),
    )
    assert.match(message, reason)
    assert.doesNotMatch(message, /SECRET/)
  }
})

test('a connection in plain text across a network is logged', async (t) => {
  const warned = async (url: string) =>
    (await opening(t, { url })).lines.some(({ msg }) => /plain text/.test(String(msg)))
  assert.equal(await warned('postgres://db.example/d'), true)
  assert.equal(await warned('postgres://db.example/d?sslmode=require'), false)
  assert.equal(await warned('postgres://10.0.0.1/d'), false)
  assert.equal(await warned('postgres:///d?host=/run/pg'), false)
})
