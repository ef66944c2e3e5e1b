import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError } from 'sallyport'
import { TlsFiles } from 'sallyport/toolkit'
import { recordedLog } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { authority } from '#kit/tls.js'

test('a new pair is used when both files have changed, and a mismatch is logged once', async (t) => {
  const ca = authority(t)
  const place = folder(t)
  const named = Object.fromEntries(
    ['cert', 'key', 'ca'].map((role) => [role, { option: role, path: join(place, role) }]),
  )
  const write = (texts: object): void => {
    for (const [role, text] of Object.entries(texts)) writeFileSync(join(place, role), text, { mode: 0o600 })
  }
  const [one, next] = [ca.issue(['a.test']), ca.issue(['a.test'])]
  write({ ...one, ca: ca.certificate })
  const { log, lines } = recordedLog()
  const files = new TlsFiles(named, log)
  t.after(() => files.close())
  let changes = 0
  files.onChange(() => changes++)
  assert.deepEqual(files.texts, { ...one, ca: ca.certificate })

  write({ cert: next.cert })
  await eventually(() => lines.some(({ msg }) => /do not fit together/.test(String(msg))))
  assert.deepEqual([files.texts.cert, changes], [one.cert, 0])
  write({ key: next.key })
  await eventually(() => files.texts.key === next.key)
  assert.deepEqual([files.texts.cert, changes], [next.cert, 1])
  assert.doesNotMatch(JSON.stringify([files, lines]), /PRIVATE KEY/)
})

test('all faults at the start are reported together, with their options', (t) => {
  const place = folder(t)
  writeFileSync(join(place, 'text'), 'hello\n')
  const at = (option: string, name: string) => ({ option, path: join(place, name) })
  const { log } = recordedLog()
  assert.throws(
    () => new TlsFiles({ cert: at('a', 'missing'), key: at('b', 'text'), ca: at('c', 'text') }, log),
    (error: unknown) => {
      assert.ok(error instanceof ConfigError)
      assert.deepEqual(
        error.problems.map(({ place }) => place),
        ['a', 'b', 'c'],
      )
      return true
    },
  )
})
