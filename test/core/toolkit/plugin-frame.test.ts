import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booted, recordedLog } from '#kit/booted.js'
import { folder } from '#kit/folder.js'

test("an error in an operator's plugin is reported with its line, at the start and in the log", async (t) => {
  const of = (body: string): string =>
    `export default { name: 'mine', api: 1, setup(gateway) {\n  ${body}\n} }`
  const asked = `gateway.http.get('/', () => null.asked)`
  const root = folder(t, { 'set-up.mjs': of('null.there'), 'asked.mjs': of(asked), 'old.cjs': 'null.there' })
  const { log, lines } = recordedLog()

  for (const [use, line] of Object.entries({ 'set-up.mjs': '2:8', 'old.cjs': '1:6' })) {
    const failed = booted(t, [{ use: `./${use}` }], { folder: root })
    await assert.rejects(failed, ({ message }) => message.endsWith(`/${use}:${line})`))
  }
  const list = [{ use: 'auth/anonymous' }, { use: './asked.mjs' }]
  const app = await booted(t, list, { folder: root, log })
  await app.inject('/')
  const told = lines.flatMap(({ err }) => (err === undefined ? [] : [Object(err).at]))
  assert.equal(told.length, 1)
  assert.match(told[0], /\/asked\.mjs:2:36$/)
})
