import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { connectionFault, connectionSettings } from '#plugins/store/database/options.js'

test('a URL becomes the settings of the driver', () => {
  assert.deepEqual(
    connectionSettings('postgresql://u%40x:p%3A%2F@[::1]:6000/d%20b?application_name=mine', undefined),
    {
      ...{ host: '::1', port: 6000, user: 'u@x', password: 'p:/', database: 'd b' },
      ...{ application_name: 'mine', options: undefined, ssl: false },
    },
  )
  const { host, port, user, database } = connectionSettings('postgres:///db?host=/run/pg', undefined)
  assert.deepEqual(
    { host, port, user, database },
    { host: '/run/pg', port: 5432, user: undefined, database: 'db' },
  )
})

test('TLS is verified whatever the URL asks for', () => {
  const sslOf = (query: string, ca?: string) => connectionSettings(`postgres://h/d${query}`, ca).ssl
  for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full'])
    assert.deepEqual(sslOf(`?sslmode=${mode}`), { rejectUnauthorized: true })
  assert.deepEqual(sslOf('?sslmode=disable', 'CA'), { rejectUnauthorized: true, ca: 'CA' })
  assert.equal(sslOf('?sslmode=disable'), false)
  assert.equal(sslOf(''), false)
  assert.match(connectionFault('postgres://h/d?sslmode=no-verify') ?? '', /`sslmode` is one of/)
  assert.match(connectionFault('postgres://h/d?sslrootcert=x') ?? '', /unknown here: sslrootcert.*caCertPath/)
})

test('an invalid URL is refused, and never quoted', () => {
  const wrong = [
    '',
    'x',
    'http://h/d',
    'postgres://u:SECRET#1@h/d',
    'postgres://u:SECRET%@h/d',
    'postgres://h:0x/d',
  ]
  for (const text of [...wrong, 'postgres://u:SECRET@h/d?port=x', 'postgres://u:SECRET@h/d?nothing=SECRET']) {
    const fault = connectionFault(text)
    assert.ok(fault, text)
    assert.doesNotMatch(fault, /SECRET/)
  }
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', minLength: 1 }).filter((text) => text.isWellFormed()),
      (password) => {
        const url = `postgres://user:${encodeURIComponent(password)}@host/db`
        assert.equal(connectionSettings(url, undefined).password, password)
      },
    ),
  )
  fc.assert(fc.property(fc.string(), (text) => void connectionFault(`postgres://${text}`)))
})

test('no part of an unencoded password is quoted, or parsed as another part', () => {
  for (const text of ['postgres://user:5432?topsecret@host/db', 'postgres://u:p@h/d?top&secret=1']) {
    assert.match(connectionFault(text) ?? '', /expected a URL|an unknown parameter/)
    assert.doesNotMatch(connectionFault(text) ?? '', /top|secret/)
  }
  for (const rest of ['/', '?', '#']) assert.ok(connectionFault(`postgres://user:12${rest}topsecret@host/db`))
  // None of four of these in a row are in what is said of any URL.
  const password = fc.string({ unit: fc.constantFrom(...'QZ79?#@:/&=%[]'.split('')), minLength: 4 })
  fc.assert(
    fc.property(
      password,
      fc.constantFrom('postgres://user:', 'postgres://h/d?', 'postgres://'),
      (secret, head) => {
        const fault = connectionFault(`${head}${secret}@host/db`) ?? ''
        for (let at = 0; at + 4 <= secret.length; at++)
          assert.ok(!fault.includes(secret.slice(at, at + 4)), fault)
      },
    ),
    { numRuns: 2_000 },
  )
})
