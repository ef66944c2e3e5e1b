import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Examination } from 'sallyport'
import { examineTlsFiles, TlsFiles } from 'sallyport/toolkit'
import { folder } from '#kit/folder.js'
import { authority } from '#kit/tls.js'

test('certificates are good, near their end, expired, or of no use', (t) => {
  const place = folder(t)
  const ca = authority(t)
  const examined = (cert: string): readonly string[] => {
    writeFileSync(join(place, 'cert'), cert)
    const found: string[] = []
    const examination = {
      path: (path: string) => join(place, path),
      ok: (check: string) => found.push(`ok ${check}`),
      warning: (check: string, code: string) => found.push(`warning ${check} ${code}`),
      wrong: (check: string, code: string) => found.push(`wrong ${check} ${code}`),
    } as unknown as Examination
    const open: Parameters<typeof examineTlsFiles>[1] = ({ path, log }) =>
      new TlsFiles({ cert: { option: 'own', path: path('cert') } }, log)
    const texts = examineTlsFiles(examination, open)
    assert.equal(texts?.cert, found.includes('wrong certificate (own) TLS_FILES') ? undefined : cert)
    return found
  }

  assert.deepEqual(examined(ca.issue(['a.test'], 15).cert), ['ok certificate'])
  assert.deepEqual(examined(ca.issue(['a.test'], 13).cert), ['warning certificate TLS_EXPIRES_SOON'])
  assert.deepEqual(examined(ca.issue(['a.test'], -1).cert), ['wrong certificate TLS_EXPIRED'])
  assert.deepEqual(examined('nothing'), ['wrong certificate (own) TLS_FILES'])
})
