import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { pluginKinds } from '#cli/commands/plugin-new/flags.js'

const root = join(import.meta.dirname, '../../examples/plugins')
const kinds = readdirSync(root).filter((name) => name !== 'README.md')
const textOf = (...path: string[]): string => readFileSync(join(root, ...path), 'utf8')

// Runs the examples' own tests.
for (const kind of kinds) await import(`../../examples/plugins/${kind}/index.test.js`)

test('the kinds of `plugin new` are the folders of the examples, and the README describes each', () => {
  assert.deepEqual(kinds, [...pluginKinds].toSorted())
  const rows = [...textOf('README.md').matchAll(/^\| \[(.+)\]\((.+)\) \|/gm)]
  assert.deepEqual(
    rows.map(([, name, folder]) => [name, folder]),
    pluginKinds.map((kind) => [kind, kind]),
  )
})

test('each example has the name of its kind, and imports only public names', async () => {
  const doors = /^(?:sallyport|sallyport\/(?:testing|toolkit)|zod|node:.+|\.\/index\.js)$/
  for (const kind of kinds) {
    const { default: plugin } = await import(`../../examples/plugins/${kind}/index.js`)
    assert.equal(plugin.name, `my-${kind}`)
    const texts = textOf(kind, 'index.ts') + textOf(kind, 'index.test.ts')
    const imported = [...texts.matchAll(/^(?:import|\}) .*?from '(.+)'$/gm)].map(([, from = '']) => from)
    assert.ok(imported.includes('sallyport') && imported.includes('sallyport/testing'), kind)
    assert.deepEqual(
      imported.filter((from) => !doors.test(from)),
      [],
      kind,
    )
  }
})

test('each plugin accepts the options that its README shows', async () => {
  for (const kind of kinds) {
    const readme = textOf(kind, 'README.md')
    const { default: plugin } = await import(`../../examples/plugins/${kind}/index.js`)
    assert.ok(readme.startsWith(`# my-${kind}\n\n${plugin.summary}\n`), kind)
    const [, block = ''] = /```yaml\n([\s\S]+?)```/.exec(readme) ?? []
    const file = parse(block)
    const [{ use, type, with: given, ...beside }] = file.plugins ?? file.sources ?? file.auth.oauth.providers
    assert.equal(use ?? type, `my-${kind}`)
    const result = await plugin.options?.['~standard'].validate({ ...given, ...beside })
    assert.deepEqual(result?.issues, undefined, kind)
  }
})
