import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { format, inspect } from 'node:util'
import { LogScrubber, redact } from 'sallyport/embed'
import { Secret, secretFrom, secretText } from 'sallyport/toolkit'
import { z } from 'zod'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'

test('T10: a secret prints as *** everywhere, and only `reveal` returns it', () => {
  const secret = new Secret('canary')
  const prints = [
    `${secret}`,
    String(secret),
    JSON.stringify({ secret }),
    inspect({ secret }),
    format('%s %o %j', secret, secret, secret),
  ]

  for (const print of prints) {
    assert.match(print, /\*\*\*/)
    assert.doesNotMatch(print, /canary/)
  }
  assert.equal(secret.reveal(), 'canary')
})

test('a value has precedence over a file, a file over the environment, and variables keep their order', (t) => {
  const file = join(folder(t), 'secret')
  writeFileSync(file, 'from file\n')
  const environment = { EMPTY: '', FIRST: 'from first', SECOND: 'from second' }
  const env = ['UNSET', 'EMPTY', 'FIRST', 'SECOND']
  const found = (places: Parameters<typeof secretFrom>[0]) => {
    const secret = secretFrom(places, { environment })
    t.after(() => secret?.close())
    return secret?.reveal()
  }

  assert.equal(found({ value: 'given', file, env }), 'given')
  assert.equal(found({ file, env }), 'from file')
  assert.equal(found({ env }), 'from first')
  assert.equal(found({ env: ['UNSET', 'EMPTY'] }), undefined)
  assert.equal(found({}), undefined)
})

test('reading a secret file removes one newline at its end and nothing else', (t) => {
  const file = join(folder(t), 'secret')
  const contents = { 'a b \n': 'a b ', 'a\r\n': 'a', 'a\n\n': 'a\n', ' a': ' a' }

  for (const [written, meant] of Object.entries(contents)) {
    writeFileSync(file, written)
    const secret = secretFrom({ file })
    secret?.close()
    assert.equal(secret?.reveal(), meant)
  }
})

test('an empty secret is refused, as a value and in a file, and so is an unreadable file', (t) => {
  const file = join(folder(t), 'secret')
  writeFileSync(file, '\n')

  assert.throws(() => secretFrom({ value: '' }), { code: 'SECRET_EMPTY' })
  assert.throws(() => secretFrom({ file }), { code: 'SECRET_EMPTY' })
  assert.throws(() => secretFrom({ file: `${file}.none` }), { code: 'FILE_UNREADABLE' })
})

test('T10: a secret in a file is read again, and the scrubber gets the new value', async (t) => {
  const file = join(folder(t), 'secret')
  writeFileSync(file, 'canary-1', { mode: 0o600 })
  const scrubber = new LogScrubber()
  const secret = secretFrom({ file }, { scrubber })
  t.after(() => secret?.close())

  for (const value of ['canary-2', 'canary-3']) {
    writeFileSync(file, value)
    await eventually(() => (secret?.reveal() === value ? true : undefined))
  }

  assert.equal(scrubber.text('canary-1 canary-2 canary-3'), 'canary-1 *** ***')
  secret?.close()
  assert.equal(scrubber.text('canary-2 canary-3'), 'canary-2 canary-3')
})

test('an option that holds a secret is marked in its JSON Schema, also when it is optional and described', () => {
  const options = z.strictObject({
    plain: z.string(),
    secret: secretText(),
    optional: secretText().optional(),
    described: secretText().describe('what it is for').optional(),
    listed: z.array(secretText()),
  })
  const written = {
    plain: 'shown',
    secret: 'canary',
    optional: 'canary',
    described: 'canary',
    listed: ['canary'],
  }

  const printed = redact(written, z.toJSONSchema(options, { io: 'input' }))

  assert.deepEqual(printed, {
    plain: 'shown',
    secret: '***',
    optional: '***',
    described: '***',
    listed: ['***'],
  })
})
