import assert from 'node:assert/strict'
import { copyFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createFetcher } from 'sallyport'
import { capturedLog, eventually } from '../../kit/captured-log.js'
import { failsWith, fetching, hereForAll } from '../../kit/egress.js'
import { listening } from '../../kit/listening.js'
import { authority, temporaryFolder, tlsListening } from '../../kit/tls.js'

const here = { allowPrivate: true, resolve: hereForAll }

test('a provider with a private authority answers when that authority is given', async (t) => {
  const ours = authority(t)
  const port = await tlsListening(t, ours.issue(['provider.test', '127.0.0.1']), (_request, response) =>
    response.end('{"a":1}'),
  )
  const { fetch } = fetching(t, { ...here, caFile: ours.file })

  const byName = await fetch(`https://provider.test:${port}/keys`)
  const byAddress = await fetch(new URL(`https://127.0.0.1:${port}/keys`))

  assert.deepEqual(await byName.json(), { a: 1 })
  assert.equal(byAddress.status, 200)
  assert.equal(byName.url, `https://provider.test:${port}/keys`)
})

test('an unknown authority is a TLS error that names the setting, without the path and query', async (t) => {
  const ours = authority(t)
  const theirs = authority(t)
  const port = await tlsListening(t, theirs.issue(['provider.test']), (_request, response) => response.end())
  const url = `https://provider.test:${port}/keys?token=canary`

  const withOther = await failsWith('EGRESS_TLS', fetching(t, { ...here, caFile: ours.file }).fetch(url))
  const withNone = await failsWith('EGRESS_TLS', fetching(t, here).fetch(url))

  for (const { message } of [withOther, withNone]) {
    assert.match(message, /caCertPath/)
    assert.ok(message.includes(`https://provider.test:${port} `))
    assert.doesNotMatch(message, /keys|canary/)
  }
})

test('an expired certificate and one for another name are told apart', async (t) => {
  const ours = authority(t)
  const expired = await tlsListening(t, ours.issue(['provider.test'], -1), (_request, response) =>
    response.end(),
  )
  const foreign = await tlsListening(t, ours.issue(['other.test']), (_request, response) => response.end())
  const { fetch } = fetching(t, { ...here, caFile: ours.file })

  const first = await failsWith('EGRESS_TLS', fetch(`https://provider.test:${expired}/`))
  const second = await failsWith('EGRESS_TLS', fetch(`https://provider.test:${foreign}/`))

  assert.match(first.message, /expired/)
  assert.match(second.message, /another host name/)
})

test('a server that does not speak TLS is a TLS error', async (t) => {
  const origin = await listening(t, (_request, response) => response.end())

  await failsWith('EGRESS_TLS', fetching(t, here).fetch(origin.replace('http:', 'https:')))
})

test('a CA file that changes is trusted from then on, and one that breaks is not taken', async (t) => {
  const ours = authority(t)
  const theirs = authority(t)
  const port = await tlsListening(t, theirs.issue(['provider.test']), (_request, response) => response.end())
  const folder = temporaryFolder(t)
  const caFile = join(folder, 'ca.pem')
  copyFileSync(ours.file, caFile)
  const { log, until } = capturedLog()
  const { fetch } = fetching(t, { ...here, caFile, log })
  await failsWith('EGRESS_TLS', fetch(`https://provider.test:${port}/`))

  copyFileSync(theirs.file, join(folder, 'next'))
  renameSync(join(folder, 'next'), caFile)
  const swapped = await eventually(() => fetch(`https://provider.test:${port}/`).catch(() => undefined))
  writeFileSync(caFile, 'not a certificate')
  await until(/CERTIFICATES_INVALID/)

  assert.equal(swapped.status, 200)
  assert.equal((await fetch(`https://provider.test:${port}/`)).status, 200)
})

test('a CA file that is missing or holds no certificate fails when the fetcher is made', (t) => {
  const file = join(temporaryFolder(t), 'ca.pem')

  assert.throws(() => createFetcher({ caFile: file }), {
    code: 'FILE_UNREADABLE',
  })
  writeFileSync(file, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
  assert.throws(() => createFetcher({ caFile: file }), {
    code: 'CERTIFICATES_INVALID',
  })
})
