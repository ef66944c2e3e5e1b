import assert from 'node:assert/strict'
import { copyFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createFetcher } from 'sallyport/toolkit'
import { capturedLog, eventually } from '#kit/captured-log.js'
import { failsWith, fetching, resolveToLoopback } from '#kit/egress.js'
import { folder } from '#kit/folder.js'
import { authority, tlsListening } from '#kit/tls.js'

const here = { allowPrivate: true, resolve: resolveToLoopback }

test('a provider with a private CA is reached when that CA is configured', async (t) => {
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

test('a CA file that changes is trusted from then on, and invalid content is ignored', async (t) => {
  const ours = authority(t)
  const theirs = authority(t)
  const port = await tlsListening(t, theirs.issue(['provider.test']), (_request, response) => response.end())
  const place = folder(t)
  const caFile = join(place, 'ca.pem')
  copyFileSync(ours.file, caFile)
  const { log, until } = capturedLog()
  const { fetch } = fetching(t, { ...here, caFile, log })
  await failsWith('EGRESS_TLS', fetch(`https://provider.test:${port}/`))

  copyFileSync(theirs.file, join(place, 'next'))
  renameSync(join(place, 'next'), caFile)
  const swapped = await eventually(() => fetch(`https://provider.test:${port}/`).catch(() => undefined))
  writeFileSync(caFile, 'not a certificate')
  await until(/CERTIFICATES_INVALID/)

  assert.equal(swapped.status, 200)
  assert.equal((await fetch(`https://provider.test:${port}/`)).status, 200)
})

test('a CA file that is missing, or holds no certificate or no root, fails when the fetcher is made', (t) => {
  const file = join(folder(t), 'ca.pem')

  assert.throws(() => createFetcher({ caFile: file }), {
    code: 'FILE_UNREADABLE',
  })
  writeFileSync(file, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
  assert.throws(() => createFetcher({ caFile: file }), {
    code: 'CERTIFICATES_INVALID',
  })
  writeFileSync(file, authority(t).intermediate().certificate)
  assert.throws(() => createFetcher({ caFile: file }), {
    code: 'CERTIFICATES_INVALID',
  })
})
