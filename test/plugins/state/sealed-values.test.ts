import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { booted } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { plugin } from '#kit/plugin.js'
import { variables } from '#kit/variables.js'
import { SealedValues } from '#plugins/state/sealed-values.js'

async function opened(
  t: TestContext,
  options: Parameters<typeof SealedValues.open>[1],
): Promise<SealedValues> {
  const found: SealedValues[] = []
  const sealing = plugin('sealing', (gateway) => void found.push(SealedValues.open(gateway, options)))
  await booted(t, [sealing])
  const [values] = found
  assert.ok(values)
  return values
}

test('every process with the passphrase can decrypt a value, only under its own key', async (t) => {
  const { passphraseFile } = { passphraseFile: `${folder(t, { key: 'open sesame\n' })}/key` }
  const one = await opened(t, { passphrase: 'open sesame' })
  const another = await opened(t, { passphraseFile })

  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), fc.string(), (key, other, value) => {
      const sealed = one.seal(key, value)
      assert.ok(value.length < 8 || !sealed.includes(value))
      assert.equal(another.open(key, sealed), value)
      if (other !== key) assert.throws(() => another.open(other, sealed), { code: 'STATE_SEALED' })
    }),
    { numRuns: 50 },
  )
})

test('with another passphrase, after a change, or when it never was sealed, a value is refused', async (t) => {
  const right = await opened(t, { passphrase: 'open sesame' })
  const wrong = await opened(t, { passphrase: 'open barley' })
  const sealed = right.seal('a', 'secret')
  const { salt, ...unsalted } = JSON.parse(sealed)
  assert.ok(salt)
  const written = (field: string, bytes: Uint8Array): string =>
    JSON.stringify({ ...unsalted, salt, [field]: Buffer.from(bytes).toString('base64') })
  const changed = ['iv', 'tag', 'data'].map((field) =>
    written(
      field,
      Buffer.from(unsalted[field], 'base64').map((byte) => byte ^ 1),
    ),
  )
  const shortTag = written('tag', Buffer.from(unsalted.tag, 'base64').subarray(0, 4))

  assert.throws(() => wrong.open('a', sealed), { code: 'STATE_SEALED' })
  for (const text of [
    ...changed,
    shortTag,
    'secret',
    '',
    '{}',
    JSON.stringify({ ...unsalted, kept: 'state/0' }),
  ])
    assert.throws(() => right.open('a', text), { code: 'STATE_SEALED' })
})

test('without a passphrase the start is refused', async (t) => {
  variables(t, { SALLYPORT_STATE_PASSPHRASE: undefined })

  await assert.rejects(opened(t, {}), { code: 'CONFIG_INVALID', message: /SALLYPORT_STATE_PASSPHRASE/ })
})
