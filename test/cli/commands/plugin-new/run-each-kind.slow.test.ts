import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { transformSync } from 'esbuild'
import { pluginKinds } from '#cli/commands/plugin-new/flags.js'
import { pluginFiles } from '#cli/tools/plugin-new/files.js'
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
    lib: ['es2025'],
    noEmit: true,
    rootDir: '/',
  }
  const include = ['new-*/*.ts', join(root, 'plugins/issuer/*.d.ts')]
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
    run(process.execPath, ['-C', 'source', '--import', 'tsx', '--test', all], { cwd: home, env }).catch(
      (error: unknown) => assert.fail(String(Object(error).stdout)),
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
    // A forwarder provides no capability.
    if (!place.endsWith('-forwarder'))
      assert.match(verifying.output.stdout, /contract: it keeps the contract of/)
  }
}
