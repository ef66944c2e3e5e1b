import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, normalize, relative } from 'node:path'
import { test } from 'node:test'
import { catalogue } from 'sallyport/builtin'

const root = join(import.meta.dirname, '..')
const sources = ['core', 'plugins', 'cli'].flatMap((top) =>
  readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(top, file)),
)

interface Import {
  readonly file: string
  readonly from: string
  readonly typeOnly: boolean
  readonly lazy: boolean
}

const imports: Import[] = sources.flatMap((file) => {
  const text = readFileSync(join(root, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  const fixed = [...text.matchAll(/^(?:import|export)\s+(type\s)?(?:[^'"]*?\sfrom\s+)?'([^']+)'/gm)].map(
    ([, type, from = '']) => ({ file, from, typeOnly: type !== undefined, lazy: false }),
  )
  const lazy = [...text.matchAll(/\bimport\('([^']+)'\)/g)].map(([, from = '']) => ({
    file,
    from,
    typeOnly: false,
    lazy: true,
  }))
  return [...fixed, ...lazy]
})

const topOf = (file: string): string => file.split('/')[0] ?? ''
const isRelative = ({ from }: Import): boolean => from.startsWith('.')
const targetOf = ({ file, from }: Import): string => normalize(join(dirname(file), from))
const isOwnName = ({ from }: Import): boolean => from === 'sallyport' || from.startsWith('sallyport/')
const told = (broken: readonly Import[]): string[] =>
  broken.map(({ file, from }) => `${file} imports ${from}`)

test('there is something to look at', () => {
  assert.ok(sources.length > 40)
  assert.ok(imports.length > 100)
})

test('a relative import never leaves its top-level folder', () => {
  assert.deepEqual(
    told(imports.filter((one) => isRelative(one) && topOf(targetOf(one)) !== topOf(one.file))),
    [],
  )
})

test('the core imports itself and packages, and nothing by the name of this package', () => {
  assert.deepEqual(told(imports.filter((one) => topOf(one.file) === 'core' && isOwnName(one))), [])
})

test('a plugin imports the public door, packages and its own folder', () => {
  const plugins = imports.filter(({ file }) => file.startsWith('plugins/') && file !== 'plugins/index.ts')
  const astray = plugins.filter((one) =>
    isRelative(one)
      ? dirname(one.file).split('/')[1] !== targetOf(one).split('/')[1]
      : isOwnName(one) && one.from !== 'sallyport',
  )
  assert.deepEqual(told(astray), [])
})

test('the catalogue imports every plugin only when it is asked for', () => {
  const eager = imports.filter(
    ({ file, typeOnly, lazy }) => file === 'plugins/index.ts' && !typeOnly && !lazy,
  )
  assert.deepEqual(told(eager), [])
})

test('a preset imports no plugin: types of the public door, schemas, and its own folder', () => {
  const presets = imports.filter(({ file }) => file.startsWith('plugins/presets/'))
  const allowed = (one: Import): boolean =>
    isRelative(one)
      ? targetOf(one).startsWith('plugins/presets/')
      : one.from === 'zod' || (isOwnName(one) && one.typeOnly)
  assert.deepEqual(told(presets.filter((one) => !allowed(one))), [])
})

test('the command line imports by name what lies outside it', () => {
  const doors = [
    'sallyport',
    'sallyport/problem',
    'sallyport/duration',
    // In the text of the tests that it writes for others.
    'sallyport/testing',
    'sallyport/builtin',
    'sallyport/package.json',
  ]
  const astray = imports.filter(
    (one) =>
      topOf(one.file) === 'cli' &&
      isOwnName(one) &&
      !doors.includes(one.from) &&
      !one.from.startsWith('sallyport/presets/'),
  )
  assert.deepEqual(told(astray), [])
})

test('the container is reached through one file', () => {
  const users = imports
    .filter(({ from }) => from === 'tsyringe' || from === 'reflect-metadata')
    .map(({ file }) => file)
  assert.deepEqual([...new Set(users)], ['core/container.ts'])
})

test('only the core adds to the types of Fastify', () => {
  const adding = sources.filter((file) =>
    /declare module 'fastify'/.test(readFileSync(join(root, file), 'utf8')),
  )
  assert.deepEqual(
    adding.filter((file) => topOf(file) !== 'core'),
    [],
  )
})

test('no file of the core names a plugin', () => {
  const names = Object.keys(catalogue)
  for (const file of sources.filter((source) => topOf(source) === 'core')) {
    const text = readFileSync(join(root, file), 'utf8')
    assert.deepEqual(
      names.filter((name) => text.includes(`'${name}'`) || text.includes(`"${name}"`)),
      [],
      file,
    )
  }
})

test('every plugin is known by its path, and every file that makes one is in the catalogue', async () => {
  const making = sources
    .filter(
      (file) =>
        file.startsWith('plugins/') &&
        /^export default definePlugin\(/m.test(readFileSync(join(root, file), 'utf8')),
    )
    .map((file) => relative('plugins', file).replace(/\.ts$/, ''))
  assert.deepEqual(Object.keys(catalogue).toSorted(), making.toSorted())
  for (const [name, load] of Object.entries(catalogue)) {
    const { default: plugin } = await load()
    assert.equal(plugin.name, name)
    assert.match(plugin.summary ?? '', /^[A-Z].*\.$/s, `${name} tells in a sentence what it is for`)
  }
})

test('nothing that can change lives in module scope', () => {
  for (const file of sources) {
    const text = readFileSync(join(root, file), 'utf8')
    assert.doesNotMatch(text, /^(?:export )?(?:let|var) /m, file)
    assert.doesNotMatch(
      text,
      /^(?:export )?const \w+(?:: [^=]+)? = new (?:Map|Set|WeakMap|LRUCache)(?:<[^>]*>)?\(\)/m,
      file,
    )
  }
})

test('what is imported is a dependency', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const declared = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
  const nameOf = (from: string): string =>
    from
      .split('/')
      .slice(0, from.startsWith('@') ? 2 : 1)
      .join('/')
  const used = new Set(
    imports.filter((one) => !isRelative(one) && !isOwnName(one)).map(({ from }) => nameOf(from)),
  )
  const foreign = [...used].filter((name) => !name.startsWith('node:') && !builtinModules.includes(name))
  assert.deepEqual(
    foreign.filter((name) => !declared.includes(name)),
    [],
  )
})

test('the top level holds what it should and nothing else', () => {
  const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
  const tops = new Set(tracked.map(topOf).filter((name) => !name.startsWith('.')))
  const expected = [
    'LICENSE',
    'README.md',
    'cli',
    'core',
    'examples',
    'package-lock.json',
    'package.json',
    'plugins',
    'test',
    'tsconfig.json',
  ]
  assert.deepEqual(
    [...tops].toSorted().filter((name) => !expected.includes(name)),
    [],
  )
})
