import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import fc from 'fast-check'
import { certificatesIn, keyPairFaults, namesOf, outOfDate } from 'sallyport/toolkit'
import { runs } from '#kit/runs.js'
import { authority } from '#kit/tls.js'

test('the certificates of a file are read in their order, and none when one is broken', (t) => {
  const ours = authority(t)
  const { cert } = ours.issue(['a.test', '127.0.0.1'])

  const names = certificatesIn(`some text\n${cert}\n${ours.certificate}`).map(namesOf)
  assert.deepEqual(names, ['DNS:a.test, IP Address:127.0.0.1', 'CN=test authority'])
  assert.deepEqual(certificatesIn(cert + cert.replace(/MI/, 'MM')), [])
  assert.deepEqual(certificatesIn(''), [])
})

test('no certificate is read from a file that ends in the middle of one', (t) => {
  const first = authority(t).certificate
  const second = authority(t).certificate.trim()
  const start = '-----BEGIN CERTIFICATE-----'.length
  fc.assert(
    fc.property(fc.integer({ min: start, max: second.length - 1 }), (length) => {
      assert.deepEqual(certificatesIn(first + second.slice(0, length)), [])
    }),
  )
  assert.equal(certificatesIn(first + second).length, 2)
})

test('no certificate is read from files that were joined without a line break, as in TLS', (t) => {
  const [first, second] = [authority(t).certificate.trim(), authority(t).certificate.trim()]

  for (const joined of [first + second, `${second}\n${first}${second}`, `${first}# the first`])
    assert.deepEqual(certificatesIn(joined), [])
  assert.equal(certificatesIn(`\uFEFF${first} \r\n# "-----" \r\n${second}`).length, 2)
})

test('TLS can use a pair without faults, and each fault names its file', (t) => {
  const ours = authority(t)
  const [one, other] = [ours.issue(['a.test']), ours.issue(['b.test'])]
  const encrypted = execFileSync('openssl', ['pkey', '-aes256', '-passout', 'pass:x'], {
    input: one.key,
    encoding: 'utf8',
  })
  const ed25519 = execFileSync('openssl', ['genpkey', '-algorithm', 'X25519'], {
    stdio: 'pipe',
    encoding: 'utf8',
  })

  assert.deepEqual(keyPairFaults(one.cert, one.key), {})
  assert.deepEqual(keyPairFaults(one.cert + ours.certificate, one.key), {})
  const faulty = (cert: string | undefined, key: string | undefined) => Object.keys(keyPairFaults(cert, key))
  assert.deepEqual(faulty(one.cert, other.key), ['key'])
  assert.deepEqual(faulty(ours.certificate + one.cert, one.key), ['key'])
  assert.deepEqual(faulty(one.key, one.cert), ['cert', 'key'])
  assert.deepEqual(faulty('', ''), ['cert', 'key'])
  assert.deepEqual(faulty(one.cert, ed25519), ['key'])
  assert.match(keyPairFaults(one.cert, encrypted).key ?? '', /is encrypted/)
  // The other file could not be read, which is reported already.
  assert.deepEqual(faulty(undefined, 'nonsense'), ['key'])
  assert.deepEqual(faulty('nonsense', undefined), ['cert'])
})

test('a key that OpenSSL finds too short is a fault of the certificate', () => {
  const made = execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:512', '-nodes', '-keyout', '-', '-out', '-'],
      ...['-days', '1', '-subj', '/CN=short'],
    ],
    { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' },
  )
  assert.match(keyPairFaults(made, made).cert ?? '', /cannot be used for TLS/)
})

test('certificates are out of date before and after their time', (t) => {
  const ours = authority(t)
  const [good] = certificatesIn(ours.issue(['a.test'], 2).cert)
  const [expired] = certificatesIn(ours.issue(['b.test'], -1).cert)
  assert.ok(good !== undefined && expired !== undefined)

  assert.deepEqual(outOfDate([good]), [])
  assert.match(outOfDate([good, expired]).join(), /^the certificate for DNS:b\.test expired on [^,]+$/)
  assert.match(outOfDate([good], Date.now() - 86_400_000).join(), /is not valid before/)
})

test('files with any content have a fault or none, and nothing throws (fast-check)', (t) => {
  const { cert, key } = authority(t).issue(['a.test'])
  const cut = (text: string) =>
    fc
      .tuple(fc.nat(text.length), fc.nat(text.length), fc.string({ maxLength: 20 }))
      .map(([from, to, inserted]) => text.slice(0, from) + inserted + text.slice(to))
  const dressed = fc
    .tuple(fc.constantFrom('CERTIFICATE', 'PRIVATE KEY', 'ENCRYPTED PRIVATE KEY'), fc.base64String())
    .map(([kind, body]) => `-----BEGIN ${kind}-----\n${body}\n-----END ${kind}-----\n`)
  const text = fc.oneof(fc.string(), dressed, cut(cert), cut(key), cut(cert + key), fc.constant(cert + key))

  fc.assert(
    fc.property(text, text, (some, others) => {
      const faults = keyPairFaults(some, others)
      assert.ok(Object.values(faults).every((fault) => typeof fault === 'string' && fault !== ''))
      // Without a fault there is a pair.
      if (Object.keys(faults).length === 0) assert.ok(certificatesIn(some).length > 0)
      assert.doesNotThrow(() => outOfDate(certificatesIn(some)))
      // No fault shows a part of a key.
      assert.ok(!JSON.stringify(faults).includes(key.slice(60, 90)))
    }),
    { numRuns: runs(500) },
  )
})
