import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import { ConfigError } from 'sallyport'
import { planList, serve } from 'sallyport/embed'
import { WatchedFile } from 'sallyport/toolkit'
import { examine } from '#cli/tools/doctor/examine.js'
import { contextFor, recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { plugin } from '#kit/plugin.js'
import { dial } from '#kit/raw.js'
import { authority, type Identity, secureListener } from '#kit/tls.js'

/** The serial number of the certificate that a new connection gets. */
async function serialAt(origin: string): Promise<string> {
  const socket = dial(origin) as TLSSocket
  await once(socket, 'secureConnect')
  const { serialNumber }: PeerCertificate = socket.getPeerCertificate()
  socket.destroy()
  return Number.parseInt(serialNumber, 16).toString()
}

const ticking = (events: PassThrough) =>
  plugin(
    'ticking',
    ({ http }) =>
      void http.get('/', { config: { public: true } }, (_request, reply) =>
        reply.type('text/event-stream').send(events),
      ),
  )

test('the port uses new files within five seconds, never half a pair, and drops no stream', async (t) => {
  const { log, lines } = recordedLog()
  const said = (text: RegExp) => () => lines.some(({ msg }) => text.test(`${msg}`))
  const ours = authority(t)
  const listen = secureListener(t, ours)
  const { cert, key } = listen.with.tls
  const events = new PassThrough()
  const running = await serving(t, [listen, ticking(events)], { log })
  const { main = '' } = running.addresses
  assert.equal(await serialAt(main), '1')
  const stream = dial(main)
  stream.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  events.write('data: before\n\n')
  let heard = ''
  stream.on('data', (chunk) => {
    heard += chunk
  })
  await eventually(() => heard.includes('before'))

  const second = ours.issue(['localhost', '127.0.0.1'])
  writeFileSync(cert, second.cert)
  await eventually(said(/do not fit together/), 5)
  assert.equal(await serialAt(main), '1')
  writeFileSync(key, second.key)
  await eventually(async () => (await serialAt(main)) === '2', 5)

  // Garbage, then a missing file, and then both files of a new pair at once.
  writeFileSync(cert, 'nonsense')
  rmSync(key)
  await eventually(said(/file cannot be used/), 5)
  assert.equal(await serialAt(main), '2')
  const third = ours.issue(['localhost', '127.0.0.1'])
  for (const [path, text] of [
    [key, third.key],
    [cert, third.cert],
  ] as const) {
    writeFileSync(`${path}.next`, text)
    renameSync(`${path}.next`, path)
  }
  await eventually(async () => (await serialAt(main)) === '3', 5)

  events.write('data: after\n\n')
  await eventually(() => heard.includes('after'))
  stream.destroy()
  const texts = JSON.stringify(lines)
  assert.ok(!texts.includes('PRIVATE'), 'no key is in the log')
})

test('a pair that is written one file after the other, or swapped as by Kubernetes, causes no warning', async (t) => {
  const { log, lines } = recordedLog()
  const ours = authority(t)
  const place = folder(t)
  const publish = (version: string, { cert, key }: Identity) => {
    mkdirSync(join(place, `..${version}`))
    writeFileSync(join(place, `..${version}`, 'tls.crt'), cert)
    writeFileSync(join(place, `..${version}`, 'tls.key'), key, { mode: 0o600 })
    symlinkSync(`..${version}`, join(place, '..tmp'))
    renameSync(join(place, '..tmp'), join(place, '..data'))
  }
  publish('1', ours.issue(['127.0.0.1']))
  for (const file of ['tls.crt', 'tls.key']) symlinkSync(join('..data', file), join(place, file))
  const tls = { cert: './tls.crt', key: './tls.key' }
  const listen = { use: 'listen/http', with: { address: '127.0.0.1:0', tls } }
  const { main = '' } = (await serving(t, [listen], { log, folder: place })).addresses

  publish('2', ours.issue(['127.0.0.1']))
  await eventually(async () => (await serialAt(main)) === '2', 5)
  const third = ours.issue(['127.0.0.1'])
  const watched = WatchedFile.open(join(place, 'tls.crt'))
  t.after(() => watched.close())
  const seen = new Promise<string>((resolve) => watched.onChange(resolve))
  writeFileSync(join(place, 'tls.crt'), third.cert)
  await seen
  writeFileSync(join(place, 'tls.key'), third.key)
  await eventually(async () => (await serialAt(main)) === '3', 5)
  assert.deepEqual(
    lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg),
    [],
  )
})

test('one error reports every problem of the files, before the port opens', async (t) => {
  const ours = authority(t)
  const [one, other] = [ours.issue(['127.0.0.1']), ours.issue(['127.0.0.1'])]
  const place = folder(t, { 'a.crt': one.cert, 'a.key': one.key, 'b.key': other.key, 'c.txt': 'nothing' })
  const problemsOf = async (tls: object): Promise<Readonly<Record<string, string>>> => {
    const list = [{ use: 'listen/http', with: { address: '127.0.0.1:0', tls } }]
    const started = serve(list, contextFor({ folder: place }))
    const error = await started.then((running) => running.stop(0)).catch((thrown: unknown) => thrown)
    assert.ok(error instanceof ConfigError)
    return Object.fromEntries(
      error.problems.map(({ place: at, message }) => [at.replace(/^.*tls\./, ''), message]),
    )
  }
  const found = await problemsOf({ cert: './none.crt', key: './c.txt', clientCa: './c.txt' })
  assert.match(found['cert'] ?? '', /cannot read .*none\.crt/)
  assert.match(found['key'] ?? '', /c\.txt: expected a PEM private key/)
  assert.match(found['clientCa'] ?? '', /c\.txt: expected PEM certificates/)
  assert.deepEqual(Object.keys(await problemsOf({ cert: './a.crt', key: './b.key' })), ['key'])

  for (const [tls, wrong] of [
    [{ cert: './a.crt' }, /key/],
    [{ cert: './a.crt', key: './a.key', clientCertificate: 'require' }, /needs clientCa/],
    [{ cert: './a.crt', key: './a.key', clientCertificate: 'request' }, /needs clientCa/],
    [{ cert: './a.crt', key: './a.key', minVersion: '1.1' }, /minVersion/],
    [{ cert: './a.crt', key: './a.key', ciphers: 'NULL' }, /ciphers/],
    [{}, /cert/],
    [null, /tls/],
  ] as const) {
    const list = [{ use: 'listen/http', with: { address: '127.0.0.1:0', tls } }]
    await assert.rejects(planList(list, contextFor({ folder: place })), (error) => {
      assert.ok(error instanceof ConfigError)
      return wrong.test(error.message)
    })
  }
})

test('an expired certificate is a warning at the start, in the middle of a chain too', async (t) => {
  const ours = authority(t)
  const good = ours.issue(['127.0.0.1'])
  const expired = ours.issue(['127.0.0.1'], -1)
  for (const [cert, key, warnings] of [
    [expired.cert, expired.key, 1],
    [good.cert + expired.cert, good.key, 1],
    [good.cert + ours.certificate, good.key, 0],
  ] as const) {
    const { log, lines } = recordedLog()
    const listen = secureListener(t, ours)
    writeFileSync(listen.with.tls.cert, cert)
    writeFileSync(listen.with.tls.key, key)
    const { main = '' } = (await serving(t, [listen], { log })).addresses
    assert.match(await serialAt(main), /^\d+$/)
    assert.equal(lines.filter(({ msg }) => /out of date/.test(`${msg}`)).length, warnings)
  }
})

test('doctor checks dates, chain, key and names of the certificate', async (t) => {
  const ours = authority(t)
  const theirs = authority(t)
  const long = ours.issue(['mcp.example.com', '127.0.0.1'], 90)
  const files = {
    'long.crt': long.cert,
    'long.key': long.key,
    'chain.crt': long.cert + ours.certificate,
    'broken.crt': long.cert + theirs.certificate,
    'ca.crt': ours.certificate,
  }
  const expired = ours.issue(['127.0.0.1'], -1)
  const soon = ours.issue(['127.0.0.1'], 13)
  const place = folder(t, {
    ...files,
    'expired.crt': expired.cert,
    'expired.key': expired.key,
    'soon.crt': soon.cert,
    'soon.key': soon.key,
  })
  const examined = async (cert: string, { key = 'long', resource = '', address = '127.0.0.1:8443' } = {}) => {
    const tls = { cert: `${cert}.crt`, key: `${key}.key` }
    const list = [
      { use: 'listen/http', with: { address, tls } },
      ...(resource === '' ? [] : [{ use: 'discovery/resource', with: { resource } }]),
    ]
    const found = await examine(await planList(list, contextFor({ folder: place })), place)
    const own = found.filter(({ about }) => about === 'listen/http')
    return own.map(({ state, check, code }) => [state, check, state === 'ok' ? '' : code].join(' ').trim())
  }

  const good = ['ok certificate', 'ok certificate name']
  assert.deepEqual(await examined('long'), good)
  assert.deepEqual(
    await examined('long', { resource: 'https://mcp.example.com/mcp', address: '0.0.0.0:1' }),
    good,
  )
  assert.deepEqual(await examined('long', { address: '0.0.0.0:1' }), ['ok certificate'])
  assert.deepEqual(await examined('long', { resource: 'https://other.example.com/' }), [
    'ok certificate',
    'wrong certificate name TLS_NAME',
  ])
  assert.deepEqual(await examined('broken'), [
    'warning certificate TLS_EXPIRES_SOON',
    'wrong certificate chain TLS_CHAIN',
    'ok certificate name',
  ])
  assert.deepEqual(await examined('expired', { key: 'expired' }), [
    'wrong certificate TLS_EXPIRED',
    'ok certificate name',
  ])
  assert.deepEqual(await examined('soon', { key: 'soon' }), [
    'warning certificate TLS_EXPIRES_SOON',
    'ok certificate name',
  ])
  // The authority of the tests lives for two days.
  assert.deepEqual(await examined('chain'), ['warning certificate TLS_EXPIRES_SOON', 'ok certificate name'])
  assert.deepEqual(await examined('long', { key: 'soon' }), ['wrong certificate (tls.key) TLS_FILES'])
  assert.deepEqual(await examined('none'), ['wrong certificate (tls.cert) TLS_FILES'])
})
