import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { transformSync } from 'esbuild'
import fc from 'fast-check'
import { pluginKinds } from '#cli/commands/plugin-new/flags.js'
import { pluginFiles } from '#cli/tools/plugin-new/files.js'
import { dependencyOn } from '#cli/tools/plugin-new/own-package.js'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'

const root = join(import.meta.dirname, '../../../..')
const run = promisify(execFile)

/** A folder in which this package is installed, with what a new plugin asks for. */
function workplace(t: TestContext): string {
  const home = folder(t, {})
  mkdirSync(join(home, 'node_modules/@types'), { recursive: true })
  for (const name of ['tsx', 'typescript', 'zod', '@types/node'])
    symlinkSync(join(root, 'node_modules', name), join(home, 'node_modules', name))
  symlinkSync(root, join(home, 'node_modules/sallyport'))
  return home
}

async function written(t: TestContext, home: string, name: string): Promise<string> {
  const making = program(t, ['plugin', 'new', name], { cwd: home })
  assert.equal(await making.ended(), 0, making.output.stderr)
  return join(home, name)
}

test('a new plugin of each kind passes its own test, the compiler and its contract as it was written', async (t) => {
  const home = workplace(t)
  const places = pluginKinds.map((kind) => {
    // Not `my-…`, as the examples are called.
    const place = join(home, `new-${kind}`)
    mkdirSync(place)
    for (const [file, text] of Object.entries(pluginFiles(`new-${kind}`, kind)))
      writeFileSync(join(place, file), text)
    return place
  })
  // All in one process, which has to load the gateway once.
  const all = join(home, 'all.test.ts')
  writeFileSync(all, places.map((place) => `import '${place}/index.test.ts'\n`).join(''))

  const compilerOptions = {
    ...JSON.parse(readFileSync(join(places[0] ?? '', 'tsconfig.json'), 'utf8')).compilerOptions,
    // What is installed here is not built: its sources stand for it.
    customConditions: ['source'],
    lib: ['es2023', 'es2024.string'],
    noEmit: true,
    rootDir: '/',
  }
  const include = ['new-*/*.ts', join(root, 'test/kit/*.d.ts')]
  writeFileSync(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }))
  const { PATH = '', HOME = '' } = process.env
  // The runner above would take the runner below for a part of its own.
  const env = { PATH, HOME }
  const tsc = [join(root, 'node_modules/typescript/bin/tsc'), '-p', home]
  await Promise.all([
    // The threads of the compiler each work out the same types anew.
    run(process.execPath, [...tsc, '--singleThreaded']).catch((error: unknown) =>
      assert.fail(String(Object(error).stdout)),
    ),
    run(process.execPath, ['--import', 'tsx', '--test', all], { cwd: home, env }).catch((error: unknown) =>
      assert.fail(String(Object(error).stdout)),
    ),
    verified(t, places),
  ])
})

/** One after the other: each has two processes. */
async function verified(t: TestContext, places: readonly string[]): Promise<void> {
  for (const place of places) {
    const { code } = transformSync(readFileSync(join(place, 'index.ts'), 'utf8'), { loader: 'ts' })
    mkdirSync(join(place, 'dist'))
    writeFileSync(join(place, 'dist/index.js'), code)
    writeFileSync(join(place, 'options.yaml'), 'file: ./secrets.json\n')
    const given = place.endsWith('-secrets') ? ['--with', join(place, 'options.yaml')] : []
    const verifying = program(t, ['plugin', 'verify', place, ...given])
    assert.equal(await verifying.ended(), 0, verifying.output.stdout + verifying.output.stderr)
    assert.doesNotMatch(verifying.output.stdout, /^(?:wrong|warning)/m)
    assert.match(verifying.output.stdout, /contract: it keeps that of/)
  }
}

test('a new plugin is the example of its kind under another name, whatever name that is', async () => {
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
      assert.ok(files['index.test.ts']?.includes(`\ncontractSuite('${name}', `))
      assert.ok(files['README.md']?.startsWith(`# ${name}\n`))
      for (const text of Object.values(files)) assert.ok(name.includes(example) || !text.includes(example))
      for (const [file, original] of originals) {
        // A name that is in the text anyway, such as `a`, cannot be told from one that was put there.
        if (original.includes(name)) continue
        assert.ok(files[file]?.replaceAll(name, example).startsWith(original), `${kind}/${file}`)
      }
    }
    for (const name of [`${example}-2`, `not-${example}`, `${example}.${example}`, 'a', '0']) renamed(name)
    fc.assert(fc.property(others, renamed), { numRuns: 50 })
  }
})

test('a folder that nothing may be written into is told as one', {
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

test('what npm installed from a tarball has new plugins tested with that tarball, and what came from elsewhere by version', (t) => {
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

test('a folder that is there already, and a name that no package may have, are left alone', async (t) => {
  const home = folder(t, { 'mine/note': 'keep' })
  for (const name of ['mine', '../elsewhere', 'Mine']) {
    const making = program(t, ['plugin', 'new', name], { cwd: home })
    assert.equal(await making.ended(), 2, name)
  }
  assert.equal(readFileSync(join(home, 'mine/note'), 'utf8'), 'keep')
})
