import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { definePlugin, SecretStore } from 'sallyport'
import { booted, contractSuite } from 'sallyport/testing'
import plugin from './index.js'

/** Writes a file with this text, removed when the test ends. */
function written(t: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'secrets.json')
  writeFileSync(file, text, { mode: 0o600 })
  return file
}

test('the error about a file that is not JSON names the file, and quotes none of its content', async (t) => {
  const file = written(t, 'a-password')
  const asking = definePlugin({
    name: 'asking',
    api: 1,
    setup(gateway) {
      const stores = gateway.use(SecretStore)
      gateway.onStart(async () => void (await stores()[0]?.get('db')))
    },
  })
  await assert.rejects(booted(t, [{ use: plugin, with: { file } }, { use: asking }]), (error: Error) => {
    assert.ok(error.message.includes(file))
    assert.ok(!error.message.includes('a-password'))
    return true
  })
})

contractSuite('my-secrets', (t) => ({
  list: [{ use: plugin, with: { file: written(t, '{"db":"a-password"}') } }],
  fixtures: { secret: { name: 'db', value: 'a-password' } },
}))
