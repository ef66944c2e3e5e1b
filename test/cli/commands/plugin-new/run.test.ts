import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { pluginFiles } from '#cli/new-plugin/files.js'
import { dependencyOn } from '#cli/new-plugin/own-package.js'
import { pluginKinds } from '#cli/options/plugin.js'
import { folder } from '../../kit/folder.js'
import { program } from '../../kit/program.js'

const root = join(import.meta.dirname, '../../..')
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
    const place = join(home, `my-${kind}`)
    mkdirSync(place)
    for (const [file, text] of Object.entries(pluginFiles(`my-${kind}`, kind)))
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
  const include = ['my-*/*.ts', join(root, 'test/kit/*.d.ts')]
  writeFileSync(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }))
  const node = ['-C', 'source', '--import', import.meta.resolve('tsx')]
  const { PATH = '', HOME = '' } = process.env
  // The runner above would take the runner below for a part of its own.
  const env = { PATH, HOME }
  await Promise.all([
    run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', home]).catch(
      (error: unknown) => assert.fail(String(Object(error).stdout)),
    ),
    run(process.execPath, [...node, '--test', all], { cwd: home, env }).catch((error: unknown) =>
      assert.fail(String(Object(error).stdout)),
    ),
    ...places.map(async (place) => {
      const verifying = program(t, ['plugin', 'verify', join(place, 'index.ts')], { typescript: true })
      assert.equal(await verifying.ended(), 0, verifying.output.stdout + verifying.output.stderr)
      assert.doesNotMatch(verifying.output.stdout, /^(?:wrong|warning)/m)
      assert.match(verifying.output.stdout, /contract: it keeps that of/)
    }),
  ])
})

test('a new plugin can be found, and is made for the kernel that wrote it', async (t) => {
  const place = await written(t, folder(t, {}), 'mine')
  const { keywords, peerDependencies, devDependencies, exports } = JSON.parse(
    readFileSync(join(place, 'package.json'), 'utf8'),
  )
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  assert.deepEqual(keywords, ['sallyport-plugin'])
  assert.deepEqual(peerDependencies, { sallyport: `^${version}` })
  assert.equal(exports, './dist/index.js')
  // Written by a checkout, it is tested with that.
  assert.equal(devDependencies.sallyport, `file:${root}`)

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
