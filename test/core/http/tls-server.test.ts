import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import { recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { plugin } from '#kit/plugin.js'
import { dial, requestRaw, sendRaw } from '#kit/raw.js'
import { authority, secureListener } from '#kit/tls.js'

const hello = plugin('hello', ({ http }) => void http.get('/', { config: { public: true } }, () => 'hello'))

/** How a handshake ended: the version that was agreed on, or the code of the error. */
async function shaken(origin: string, options: ConnectionOptions): Promise<string> {
  const socket = dial(origin, options) as TLSSocket
  const ended = await Promise.race([
    once(socket, 'secureConnect').then(() => socket.getProtocol() ?? ''),
    once(socket, 'error').then(([error]) => String((error as NodeJS.ErrnoException).code)),
  ]).catch((error) => String((error as NodeJS.ErrnoException).code))
  socket.destroy()
  return ended
}

test('TLS 1.2 and 1.3 are spoken and nothing older; HTTP/1.1 is agreed on, HTTP/2 alone is refused', async (t) => {
  const ours = authority(t)
  const list = (tls: object) => [secureListener(t, ours, { tls }), hello]
  const { main = '' } = (await serving(t, list({}))).addresses
  const newest = (await serving(t, list({ minVersion: 1.3 }))).addresses.main ?? ''
  const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const

  assert.match(main, /^https:\/\/127\.0\.0\.1:\d+$/)
  assert.equal(await shaken(main, {}), 'TLSv1.3')
  assert.equal(await shaken(main, { maxVersion: 'TLSv1.2' }), 'TLSv1.2')
  assert.match(await shaken(main, old), /PROTOCOL_VERSION/)
  assert.match(await shaken(newest, { maxVersion: 'TLSv1.2' }), /PROTOCOL_VERSION/)
  assert.match(await shaken(main, { ALPNProtocols: ['h2'] }), /NO_APPLICATION_PROTOCOL/)
  const both = dial(main, { ALPNProtocols: ['h2', 'http/1.1'] }) as TLSSocket
  await once(both, 'secureConnect')
  assert.equal(both.alpnProtocol, 'http/1.1')
  both.destroy()
  const verified = { rejectUnauthorized: true, ca: ours.certificate }
  assert.deepEqual(await requestRaw(main, 'GET /', undefined, verified), { status: 200, body: 'hello' })
})

test('TLS 1.2 has forward secrecy and AEAD, unless the operator wants other ciphers too', async (t) => {
  const list = (tls: object) => [secureListener(t, undefined, { tls }), hello]
  const { main = '' } = (await serving(t, list({}))).addresses
  const older = (await serving(t, list({ modernCiphers: false }))).addresses.main ?? ''
  const old = (ciphers: string) => ({ maxVersion: 'TLSv1.2', ciphers }) as const
  for (const ciphers of [
    'AES128-GCM-SHA256',
    'AES256-SHA',
    'ECDHE-RSA-AES128-SHA256',
    'ECDHE-ECDSA-AES128-SHA256',
  ])
    assert.match(await shaken(main, old(ciphers)), /HANDSHAKE_FAILURE|NO_CIPHERS/, ciphers)
  assert.equal(await shaken(main, old('ECDHE+AESGCM')), 'TLSv1.2')
  assert.equal(await shaken(main, { maxVersion: 'TLSv1.3' }), 'TLSv1.3')
  assert.equal(await shaken(older, old('ECDHE+AES')), 'TLSv1.2')
})

test('plain HTTP on the https port gets a 400 and is logged once, and the port goes on', async (t) => {
  const { log, lines } = recordedLog()
  const { main = '' } = (await serving(t, [secureListener(t), hello], { log })).addresses
  const plain = main.replace('https:', 'http:')

  for (const method of ['GET', 'POST', 'GET']) {
    const { status, body } = await requestRaw(plain, `${method} /`)
    assert.equal(status, 400)
    assert.match(body, /this port speaks https/)
  }
  // OpenSSL does not recognize these bytes; the HTTP methods that it recognizes depend on its version.
  for (const bytes of ['SSH-2.0-x\r\n', '\0'.repeat(5000)])
    assert.doesNotMatch(await sendRaw(plain, bytes).catch(() => ''), /HTTP/)

  assert.equal((await requestRaw(main, 'GET /')).status, 200)
  assert.equal(lines.filter(({ msg, level }) => level === 'warn' && /plain http/.test(`${msg}`)).length, 1)
})

test('a client cannot ask for another handshake on its connection (renegotiation)', async (t) => {
  const { main = '' } = (await serving(t, [secureListener(t), hello])).addresses
  const socket = dial(main, { maxVersion: 'TLSv1.2' }) as TLSSocket
  await once(socket, 'secureConnect')

  const answered = new Promise((resolve) => socket.renegotiate({}, resolve))
  const [error] = await Promise.race([once(socket, 'error'), answered.then((outcome) => [outcome])])
  assert.equal(error?.code, 'ERR_SSL_NO_RENEGOTIATION')
  socket.destroy()
})

const CALLERS = { ours: 'accepted', none: 'accepted', theirs: 'refused', expired: 'refused' } as const

for (const [mode, expected] of [
  ['request', CALLERS],
  ['require', { ...CALLERS, none: 'refused' }],
] as const) {
  test(`client certificates, ${mode}: one of another authority is refused, and so is an expired one`, async (t) => {
    const { log, lines } = recordedLog()
    const [ours, theirs] = [authority(t), authority(t)]
    const tls = { clientCa: ours.file, ...(mode === 'require' && { clientCertificate: mode }) }
    const { main = '' } = (await serving(t, [secureListener(t, ours, { tls }), hello], { log })).addresses
    const shown = {
      ours: ours.issue(['a.test']),
      none: {},
      theirs: theirs.issue(['a.test']),
      expired: ours.issue(['a.test'], -1),
    }
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const found = Object.entries(shown).map(async ([who, certificate]) => {
        const answer = await sendRaw(main, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', {
          ...certificate,
          maxVersion: version,
        }).catch(() => '')
        return [who, answer.startsWith('HTTP/1.1 200') ? 'accepted' : answer === '' ? 'refused' : answer]
      })
      assert.deepEqual(Object.fromEntries(await Promise.all(found)), expected)
    }
    const codes = lines.filter(({ msg }) => msg === 'a TLS handshake failed').map(({ code }) => code)
    assert.ok(codes.includes('CERT_HAS_EXPIRED'), codes.join())
  })
}

test('client certificates of an intermediate authority are accepted with its root, and refused with another', async (t) => {
  const root = authority(t)
  const ours = root.intermediate()
  const { key, cert } = ours.issue(['a.test'])
  const accepted = async (clientCa: string): Promise<boolean> => {
    const tls = { clientCa: join(folder(t, { ca: clientCa }), 'ca'), clientCertificate: 'require' }
    const { main = '' } = (await serving(t, [secureListener(t, root, { tls }), hello])).addresses
    const answer = requestRaw(main, 'GET /', undefined, { key, cert })
    return answer.then(
      ({ status }) => status === 200,
      () => false,
    )
  }

  assert.equal(await accepted(root.certificate + ours.certificate), true)
  assert.equal(await accepted(authority(t).certificate + ours.certificate), false)
  await assert.rejects(accepted(ours.certificate), { code: 'CONFIG_INVALID', message: /clientCa.*no root/ })
})

/** A TLS session that a client can resume without a certificate. */
async function sessionOf(origin: string, options: ConnectionOptions): Promise<Buffer | undefined> {
  const socket = dial(origin, options) as TLSSocket
  let session: Buffer | undefined
  socket.on('session', (given: Buffer) => {
    session = given
  })
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  socket.resume()
  await once(socket, 'close')
  return session
}

test('attack: a session is resumed with the certificate of an authority that was removed since', async (t) => {
  const { log, lines } = recordedLog()
  const [before, after] = [authority(t), authority(t)]
  const tls = { clientCa: before.file, clientCertificate: 'require' }
  const { main = '' } = (await serving(t, [secureListener(t, before, { tls }), hello], { log })).addresses
  const certificate = before.issue(['caller.test'])

  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const session = await sessionOf(main, { ...certificate, maxVersion })
    const again = dial(main, { ...certificate, maxVersion, ...(session && { session }) }) as TLSSocket
    await once(again, 'secureConnect')
    assert.equal(again.isSessionReused(), false, maxVersion)
    again.destroy()
  }
  const session = await sessionOf(main, { ...certificate, maxVersion: 'TLSv1.2' })
  writeFileSync(before.file, after.certificate)
  await eventually(() => lines.some(({ msg }) => /TLS files were read again/.test(`${msg}`)))

  const resuming = { ...certificate, maxVersion: 'TLSv1.2' as const, ...(session && { session }) }
  const answer = await sendRaw(main, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', resuming).catch(() => '')
  assert.equal(answer, '')
})

test('without client certificates sessions are resumed, which saves half of a handshake', async (t) => {
  const { main = '' } = (await serving(t, [secureListener(t), hello])).addresses
  const session = await sessionOf(main, {})
  assert.ok(session !== undefined)
  const again = dial(main, { session }) as TLSSocket
  await once(again, 'secureConnect')
  assert.equal(again.isSessionReused(), true)
  again.destroy()
})

test('a reload that turns TLS on or off, or changes client certificates, on an open port is refused with an error', async (t) => {
  const ours = authority(t)
  const secure = secureListener(t, ours)
  const running = await serving(t, [secure, hello])
  const kept = dial(running.addresses.main ?? '') as Socket
  await once(kept, 'secureConnect')
  const changed = [
    { tls: undefined },
    { tls: { ...secure.with.tls, clientCa: ours.file } },
    { tls: { ...secure.with.tls, clientCa: ours.file, clientCertificate: 'require' } },
  ]
  for (const more of changed) {
    const list = [{ ...secure, with: { ...secure.with, ...more } }, hello]
    await assert.rejects(running.swap(list), /cannot change between http and https/)
  }

  const { cert, key } = ours.issue(['localhost'])
  writeFileSync(secure.with.tls.cert, cert)
  writeFileSync(secure.with.tls.key, key)
  await running.swap([
    { ...secure, with: { ...secure.with, tls: { ...secure.with.tls, minVersion: '1.3' } } },
    hello,
  ])
  assert.match(await shaken(running.addresses.main ?? '', { maxVersion: 'TLSv1.2' }), /PROTOCOL_VERSION/)
  const named = { rejectUnauthorized: true, ca: ours.certificate, servername: 'localhost' }
  assert.equal((await requestRaw(running.addresses.main ?? '', 'GET /', undefined, named)).status, 200)
  // The connection from before is still served.
  kept.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  const [first] = (await once(kept, 'data')) as [Buffer]
  assert.match(String(first), /^HTTP\/1.1 200/)
})
