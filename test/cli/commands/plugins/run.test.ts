import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { catalogue } from 'sallyport/builtin'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'

test('every built-in plugin is listed with its options, and the plugins of a file too', async (t) => {
  const mine = `export default { name: 'mine', api: 1, version: '4.5.6', summary: 'Mine.', setup() {} }`
  const home = folder(t, { 'mine.mjs': mine, 'list.yaml': '- use: ./mine.mjs\n' })
  const listing = program(t, ['plugins', '--json', '--config', join(home, 'list.yaml')])
  assert.equal(await listing.ended(), 0, listing.output.stderr)

  const listed: Record<string, unknown>[] = JSON.parse(listing.output.stdout)
  assert.deepEqual(
    listed.map(({ use }) => use),
    [...Object.keys(catalogue), './mine.mjs'],
  )
  const { name, api, version, builtIn } = listed.at(-1) ?? {}
  assert.deepEqual(
    { name, api, version, builtIn },
    { name: 'mine', api: 1, version: '4.5.6', builtIn: false },
  )
  for (const { options, use } of listed) assert.equal(typeof options, 'object', String(use))
})

test('one plugin is printed with its options, defaults and secrets', async (t) => {
  const telling = program(t, ['plugins', 'auth/oidc'])
  assert.equal(await telling.ended(), 0)
  const { stdout } = telling.output
  assert.match(stdout, /^auth\/oidc \(\S+, API level 1\)$/m)
  assert.match(stdout, /^ {2}issuerUrl \(required\)$/m)
  assert.match(stdout, /^ {2}clientSecret \(secret\)$/m)
  assert.match(stdout, /^ {2}anyAudience \(default false\)$/m)
})

test('an unknown name is refused with the nearest one', async (t) => {
  const telling = program(t, ['plugins', 'auth/oid'])
  assert.equal(await telling.ended(), 2)
  assert.match(telling.output.stderr, /"auth\/oidc"/)
})
