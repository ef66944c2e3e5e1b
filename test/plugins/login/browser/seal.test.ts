import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { boot } from 'sallyport/embed'
import { Secret } from 'sallyport/toolkit'
import { z } from 'zod'
import { contextFor, recordedLog } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { Seal } from '#plugins/login/browser/seal.js'

const KEY = Buffer.alloc(32, 1).toString('base64')
const seal = new Seal(new Secret(KEY), 'one')
const soon = () => Date.now() + 60_000

test('what was sealed opens for its purpose and owner until it expires, and nothing changed does', async () => {
  const text = await seal.seal('session', { a: 1 }, soon())
  const form = z.object({ a: z.number() })
  assert.deepEqual(await seal.open('session', text, form), { a: 1 })
  assert.equal(await seal.open('pending', text, form), undefined)
  assert.equal(await seal.open('session', text, z.string()), undefined)
  assert.equal(await new Seal(new Secret(KEY), 'two').open('session', text, form), undefined)
  assert.equal(
    await seal.open('session', await seal.seal('session', { a: 1 }, Date.now() - 2_000), form),
    undefined,
  )
  await fc.assert(
    fc.asyncProperty(fc.nat(text.length - 1), fc.constantFrom('A', 'b', '.', '='), async (at, letter) => {
      const forged = text.slice(0, at) + letter + text.slice(at + 1)
      // The last letter of a part has bits that are not used.
      const same = forged.split('.').every((part, index) => {
        const own = text.split('.')[index] ?? ''
        return Buffer.from(part, 'base64url').equals(Buffer.from(own, 'base64url'))
      })
      if (same) return
      assert.equal(await seal.open('session', forged, form), undefined)
    }),
  )
})

const list = (cookieKeyFile: string | undefined) => [
  { use: 'discovery/issuer' },
  { use: 'auth/anonymous' },
  {
    use: 'pages/sign-in',
    with: {
      resourceUrl: 'https://registry.example.com',
      issuerUrl: 'https://idp.example.com',
      clientId: 'pages',
      cookieKeyFile,
    },
  },
]

test('a key of less than 32 bytes, or that is no base64, stops the boot and is not quoted', async (t) => {
  const home = folder(t)
  const { log } = recordedLog()
  const started = (text: string | undefined) => {
    if (text !== undefined) writeFileSync(join(home, 'cookie.key'), text)
    return boot(list(text === undefined ? undefined : './cookie.key'), contextFor({ folder: home, log }))
  }
  for (const text of [
    Buffer.alloc(31, 5).toString('base64'),
    'not base64 at all, but long enough for a key',
    '',
  ]) {
    await assert.rejects(started(text), (error: Error) => {
      assert.match(error.message, /cookieKeyFile/)
      assert.match(error.message, /cookie\.key/)
      if (text !== '') assert.ok(!error.message.includes(text))
      return true
    })
  }
  await assert.rejects(
    boot(list('./missing.key'), contextFor({ folder: home, log })),
    /cookieKeyFile.*missing\.key/,
  )
  const [first, entry, signIn] = list('./missing.key')
  const missing = { ...signIn?.with, clientSecretFile: './secret', caCertPath: './ca.pem' }
  const withFiles = [first, entry, { use: 'pages/sign-in', with: missing }].filter(
    (each) => each !== undefined,
  )
  await assert.rejects(boot(withFiles, contextFor({ folder: home, log })), (error: Error) => {
    for (const file of ['missing.key', 'secret', 'ca.pem']) assert.ok(error.message.includes(file))
    return true
  })
  const lines = Buffer.alloc(64, 5).toString('base64').replace(/.{64}/, '$&\n')
  for (const text of [`${Buffer.alloc(32, 5).toString('base64')}\n`, lines, undefined])
    await (await started(text)).stop()
})
