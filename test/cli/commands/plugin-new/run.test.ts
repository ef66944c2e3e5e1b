import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { pluginKinds } from '#cli/commands/plugin-new/flags.js'
import { dependencyOn, pluginFiles } from '#cli/tools/plugin-new/files.js'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'

const root = join(import.meta.dirname, '../../../..')
const _run = promisify(execFile)

async function written(t: TestContext, home: string, name: string): Promise<string> {
  const making = program(t, ['plugin', 'new', name], { cwd: home })
  assert.equal(await making.ended(), 0, making.output.stderr)
  return join(home, name)
}

test('a new plugin is the example of its kind, under any other name', async () => {
  const others = fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,100}$/)
  for (const kind of pluginKinds) {
    const example = `my-${kind}`
    const place = join(root, 'examples/plugins', kind)
    const originals = ['index.ts', 'index.test.ts', 'README.md'].map(
      (file) => [file, readFileSync(join(place, file), 'utf8')] as const,
    )
    const renamed = (name: string): void => {
      const files = pluginFiles(name, kind)
      assert.equal(JSON.parse(files['package.json'] ?? '').name, name)
      assert.ok(files['index.ts']?.includes(`\n  name: '${name}',\n`))
      // A forwarder provides no capability.
      assert.ok(kind === 'forwarder' || files['index.test.ts']?.includes(`\ncontractSuite('${name}', `))
      assert.ok(files['README.md']?.startsWith(`# ${name}\n`))
      for (const text of Object.values(files)) assert.ok(name.includes(example) || !text.includes(example))
      for (const [file, original] of originals) {
        // A name that the text holds anyway, such as `a`, cannot be distinguished from an inserted one.
        if (original.includes(name)) continue
        assert.ok(files[file]?.replaceAll(name, example).startsWith(original), `${kind}/${file}`)
      }
    }
    for (const name of [`${example}-2`, `not-${example}`, `${example}.${example}`, 'a', '0']) renamed(name)
    fc.assert(fc.property(others, renamed), { numRuns: 50 })
  }
})

test('a folder without write access is reported as such', {
  skip: process.getuid?.() === 0,
}, async (t) => {
  const home = folder(t, {})
  chmodSync(home, 0o555)

  const making = program(t, ['plugin', 'new', 'my-guard'], { cwd: home })
  assert.equal(await making.ended(), 2)
  assert.match(making.output.stderr, /^NAME: .*write.*\(EACCES\)\n$/)
})

test('a new plugin can be found, and is made for the kernel that wrote it', async (t) => {
  const place = await written(t, folder(t, {}), 'mine')
  const { keywords, peerDependencies, devDependencies, exports, allowScripts } = JSON.parse(
    readFileSync(join(place, 'package.json'), 'utf8'),
  )
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  assert.deepEqual(keywords, ['sallyport-plugin'])
  assert.deepEqual(peerDependencies, { sallyport: `^${version}` })
  assert.equal(exports, './dist/index.js')
  // Written by a checkout, it is tested with that.
  assert.equal(devDependencies.sallyport, `file:${root}`)
  // That of its tools, which npm would ask about.
  assert.equal(allowScripts.esbuild, false)

  const verifying = program(t, ['plugin', 'verify', place])
  assert.equal(await verifying.ended(), 2)
  assert.match(verifying.output.stderr, /build it first/)
})

test('a new plugin is tested with the tarball that npm installed, or else with the published version', (t) => {
  const lock = (resolved: string) =>
    JSON.stringify({ packages: { 'node_modules/sallyport': { version: '1.2.3', resolved } } })
  const asked = (resolved: string): string => {
    const root = folder(t, { 'node_modules/.package-lock.json': lock(resolved) })
    return dependencyOn(join(root, 'node_modules/sallyport'), '1.2.3').replace(join(root, '..'), 'ABOVE')
  }
  assert.equal(asked('file:../packed/sallyport-1.2.3.tgz'), 'file:ABOVE/packed/sallyport-1.2.3.tgz')
  assert.equal(asked('https://packages.example.com/sallyport-1.2.3.tgz'), '^1.2.3')
  assert.equal(dependencyOn(join(folder(t), 'node_modules/sallyport'), '1.2.3'), '^1.2.3')
})

test('plugin new refuses an existing folder, and a name that no package may have', async (t) => {
  const home = folder(t, { 'mine/note': 'keep' })
  for (const name of ['mine', '../elsewhere', 'Mine']) {
    const making = program(t, ['plugin', 'new', name], { cwd: home })
    assert.equal(await making.ended(), 2, name)
  }
  assert.equal(readFileSync(join(home, 'mine/note'), 'utf8'), 'keep')
})
