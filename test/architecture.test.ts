import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, normalize, relative } from 'node:path'
import { test } from 'node:test'
import { transformSync } from 'esbuild'
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
const describe = (broken: readonly Import[]): string[] =>
  broken.map(({ file, from }) => `${file} imports ${from}`)

test('the rules below have files and imports to check', () => {
  assert.ok(sources.length > 40)
  assert.ok(imports.length > 100)
})

test('a relative import never leaves its top-level folder', () => {
  assert.deepEqual(
    describe(imports.filter((one) => isRelative(one) && topOf(targetOf(one)) !== topOf(one.file))),
    [],
  )
})

test('the core imports itself and packages, and never this package by its name', () => {
  assert.deepEqual(describe(imports.filter((one) => topOf(one.file) === 'core' && isOwnName(one))), [])
})

// Each layer imports itself and the layers before it.
const LAYERS = [
  'contract',
  'toolkit',
  'log',
  'egress',
  'http',
  'mcp',
  'observe',
  'gate',
  'kernel',
  'conformance',
]

test('a layer of the core imports no layer above it', () => {
  const layerOf = (file: string): string => file.split('/')[1] ?? ''
  const inside = imports.filter(({ file }) => file.startsWith('core/') && file.split('/').length > 2)
  assert.deepEqual(LAYERS.toSorted(), [...new Set(inside.map(({ file }) => layerOf(file)))].toSorted())
  const isUpward = (one: Import): boolean =>
    isRelative(one) && LAYERS.indexOf(layerOf(targetOf(one))) > LAYERS.indexOf(layerOf(one.file))
  assert.deepEqual(describe(inside.filter(isUpward)), [])
})

test('no files import each other in a circle, types included', () => {
  const importsOf = new Map<string, string[]>()
  for (const one of imports.filter(isRelative)) {
    const target = targetOf(one).replace(/\.js$/, '.ts')
    importsOf.set(one.file, [...(importsOf.get(one.file) ?? []), target])
  }
  const finished = new Set<string>()
  const circleFrom = (file: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (finished.has(file)) return undefined
    for (const next of importsOf.get(file) ?? []) {
      const circle = circleFrom(next, [...path, file])
      if (circle !== undefined) return circle
    }
    finished.add(file)
    return undefined
  }
  for (const file of sources) assert.equal(circleFrom(file, [])?.join(' -> '), undefined)
})

test('no file of the program is longer than 400 lines', () => {
  const long = sources.filter((file) => readFileSync(join(root, file), 'utf8').split('\n').length > 401)
  assert.deepEqual(long, [])
})

// Other code finds the imports and exports of these files by name: plugins, commands, the public contract.
const ENTRY_POINTS = [
  'plugins/index.ts',
  'cli/commands/index.ts',
  'core/index.ts',
  'core/toolkit.ts',
  'core/embed.ts',
]

test('a file under 40 lines has two importers, or is an entry point', () => {
  const importersOf = (file: string): readonly Import[] =>
    imports.filter((one) => {
      const target = one.from.startsWith('#') ? one.from.slice(1) : isRelative(one) ? targetOf(one) : ''
      return target === file.replace(/\.ts$/, '.js')
    })
  const textsOf = new Map(sources.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
  // A thread is started by the name of its file.
  const isThread = (file: string): boolean =>
    [...textsOf.values()].some((text) => text.includes(`resolve('#${file.replace(/\.ts$/, '.js')}')`))
  const tooSmall = sources.filter((file) => {
    if ((textsOf.get(file)?.split('\n').length ?? 0) > 40 || isThread(file)) return false
    const [importer, other] = importersOf(file)
    return (
      importer !== undefined && other === undefined && !importer.lazy && !ENTRY_POINTS.includes(importer.file)
    )
  })
  assert.deepEqual(tooSmall, [])
})

// Else a thread loads the whole toolkit: the tests of the registry then take 130 s of processor time instead of 97 s.
const FOR_THREADS = ['#core/toolkit/json-object.js', '#core/toolkit/metadata-keys.js']

// Several kinds of plugin need these: connections to databases, signing people in, verifying tokens.
const SHARED = ['#plugins/store/', '#plugins/login/', '#plugins/auth/provider/', '#plugins/issuer/console.js']

test('a plugin imports the public entry points, packages, its own folder, and shared folders', () => {
  const plugins = imports.filter(({ file }) => file.startsWith('plugins/') && file !== 'plugins/index.ts')
  const astray = plugins.filter((one) =>
    isRelative(one)
      ? dirname(one.file).split('/')[1] !== targetOf(one).split('/')[1]
      : (isOwnName(one) && one.from !== 'sallyport' && one.from !== 'sallyport/toolkit') ||
        (one.from.startsWith('#') &&
          !SHARED.some((start) => one.from.startsWith(start)) &&
          !(one.file.startsWith('plugins/registry/') && FOR_THREADS.includes(one.from))),
  )
  assert.deepEqual(describe(astray), [])
})

test('the catalogue imports a plugin only when a list uses it', () => {
  const eager = imports.filter(
    ({ file, typeOnly, lazy }) => file === 'plugins/index.ts' && !typeOnly && !lazy,
  )
  assert.deepEqual(describe(eager), [])
})

// The toolkit too: a preset checks addresses and URLs by the same rules as the plugins in its list.
test('a preset imports the toolkit, public types, schemas and its own folder, and no plugin', () => {
  const presets = imports.filter(({ file }) => file.startsWith('plugins/presets/'))
  const allowed = (one: Import): boolean =>
    isRelative(one)
      ? targetOf(one).startsWith('plugins/presets/')
      : one.from === 'zod' || one.from === 'sallyport/toolkit' || (isOwnName(one) && one.typeOnly)
  assert.deepEqual(describe(presets.filter((one) => !allowed(one))), [])
})

test('the command line imports other folders only by their public names', () => {
  const publicNames = [
    'sallyport',
    'sallyport/embed',
    'sallyport/toolkit',
    '#core/contract/problem.js',
    '#core/toolkit/duration-text.js',
    // `plugin verify` runs the contract suites that plugin authors test with.
    'sallyport/testing',
    'sallyport/builtin',
    'sallyport/server-json',
    'sallyport/package.json',
  ]
  const astray = imports.filter(
    (one) =>
      topOf(one.file) === 'cli' &&
      isOwnName(one) &&
      !publicNames.includes(one.from) &&
      !one.from.startsWith('sallyport/presets/'),
  )
  assert.deepEqual(describe(astray), [])
})

test('only one file imports the container', () => {
  const users = imports
    .filter(({ from }) => from === 'tsyringe' || from === 'reflect-metadata')
    .map(({ file }) => file)
  assert.deepEqual([...new Set(users)], ['core/kernel/container.ts'])
})

test('only the core augments the types of Fastify', () => {
  const adding = sources.filter((file) =>
    /declare module 'fastify'/.test(readFileSync(join(root, file), 'utf8')),
  )
  assert.deepEqual(
    adding.filter((file) => topOf(file) !== 'core'),
    [],
  )
})

test('the core and the command line name no plugin', () => {
  // Help texts may name one: `plugins NAME` shows the form of a name.
  const examples = /'sallyport plugins [a-z]+\/[a-z-]+'/g
  const names = new RegExp(`(?<![\\w./-])(?:${Object.keys(catalogue).join('|')})(?![\\w/-])`, 'g')
  const naming = sources
    .filter((file) => topOf(file) !== 'plugins')
    .flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8')
      const code = text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '').replaceAll(examples, '')
      return [...code.matchAll(names)].map(([name]) => `${file} names ${name}`)
    })
  assert.deepEqual(naming, [])
})

const testFolder = join(root, 'test')
const testsAndTheirTools = readdirSync(testFolder, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !file.startsWith('kit/'),
)
const tests = testsAndTheirTools.filter((file) => file.endsWith('.test.ts'))

test('a test imports the kit by name', () => {
  const byPath = testsAndTheirTools.filter((file) =>
    /from '\.[^']*\bkit\//.test(readFileSync(join(testFolder, file), 'utf8')),
  )
  assert.deepEqual(byPath, [])
})

test('only an examination loads the files of examinations', () => {
  const examinations = (from: string): boolean => /\/examine(?:-[a-z\d]+)?\.js$/.test(from)
  const eager = imports.filter(
    ({ file, from, typeOnly, lazy }) =>
      file.startsWith('plugins/') &&
      !examinations(file.replace(/\.ts$/, '.js')) &&
      examinations(from) &&
      !typeOnly &&
      !lazy,
  )
  assert.deepEqual(describe(eager), [])
})

test('every plugin has a test under its name', () => {
  const untested = Object.keys(catalogue).filter(
    (name) => !['', '.slow'].some((kind) => tests.includes(`plugins/${name}${kind}.test.ts`)),
  )
  assert.deepEqual(untested, [])
})

test('every file of the core with code has a test under its name', () => {
  const tested = new Map<string, string>([
    ...[
      'admission',
      'bounded-publications',
      'catalogue',
      'lifecycle',
      'observers',
      'outgoing',
      'requirement',
      'sample-contents',
      'sample-publications',
      'sample-requests',
    ].map((file) => [`core/conformance/${file}.ts`, 'by those of the suites'] as const),
    ['core/http/flat-headers.ts', 'by forward/http, which has to pass every byte of them'],
    ['core/mcp/call-observer.ts', 'types, and a field of the request'],
    ['core/mcp/error-shape.ts', 'by forward/http-judged, over sockets'],
    ['core/mcp/filtered-head.ts', 'by filtered-body and filtered-events'],
    ['core/mcp/json.ts', 'by lists, which has to find what JSON.parse finds'],
    ['core/mcp/response.ts', 'types, errors, and one predicate'],
    ['core/mcp/response-writer.ts', 'by forward/http, which has to pass every byte'],
    ['core/toolkit/byte-budget.ts', 'by those of what it bounds'],
    ['core/contract/list.ts', 'types, and one predicate'],
    ['core/contract/plugin.ts', 'types, and a function that returns what it is given'],
    ['core/gate/authentication-refusal.ts', 'by that of gate'],
    ['core/http/current-response.ts', 'by that of connections'],
    ['core/http/end-socket.ts', 'by that of pending-upgrade, which ends every socket with it'],
    ['core/log/dropped-lines.ts', 'by that of stderr'],
    ['core/log/line-sink.ts', 'by that of stderr'],
    ['core/log/pretty.ts', 'by that of log'],
    ['core/toolkit/metadata-keys.ts', 'two keys and no code'],
    ['core/toolkit/files/directory-watch.ts', 'by that of watched-file, which is made of it'],
    ...['child', 'convert', 'frames', 'nesting', 'reader'].map(
      (file) => [`core/toolkit/yaml/${file}.ts`, 'by source/file-yaml, over the process'] as const,
    ),
  ])
  const untested = sources.filter(
    (file) =>
      /^core\/.*\//.test(file) &&
      !file.startsWith('core/contract/capabilities/') &&
      transformSync(readFileSync(join(root, file), 'utf8'), { loader: 'ts' }).code.trim() !== '' &&
      !['.test.ts', '.apart.test.ts'].some((kind) => tests.includes(file.replace(/\.ts$/, kind))),
  )
  assert.deepEqual(untested.toSorted(), [...tested.keys()].toSorted())
})

test('a test of the core, a plugin or the command line has the name of what it tests', () => {
  const names = [...sources.map((file) => file.replace(/\.ts$/, '')), 'cli/bin']
  const astray = tests
    .filter((file) => ['core', 'plugins', 'cli'].includes(topOf(file)))
    .filter((file) => {
      const tested = file.replace(/(?:\.alone|\.apart|\.slow)?\.test\.ts$/, '')
      return !names.some(
        (name) => tested === name || tested.startsWith(`${name}-`) || tested.startsWith(`${name}/`),
      )
    })
  assert.deepEqual(astray, [])
})

test('the catalogue has every plugin under its path', async () => {
  const making = sources
    .filter(
      (file) =>
        file.startsWith('plugins/') &&
        /^export default (?:definePlugin|\w+)\(/m.test(readFileSync(join(root, file), 'utf8')),
    )
    .map((file) => relative('plugins', file).replace(/\.ts$/, ''))
  assert.deepEqual(Object.keys(catalogue).toSorted(), making.toSorted())
  for (const [name, load] of Object.entries(catalogue)) {
    const { default: plugin } = await load()
    assert.equal(plugin.name, name)
    assert.match(plugin.summary ?? '', /^[A-Z].*\.$/s, `the summary of ${name} is no sentence`)
  }
})

test('no module has mutable state in its scope', () => {
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

test('every imported package is a dependency', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
  const nameOf = (from: string): string =>
    from
      .split('/')
      .slice(0, from.startsWith('@') ? 2 : 1)
      .join('/')
  const used = new Set(
    imports
      .filter((one) => !isRelative(one) && !isOwnName(one) && !one.from.startsWith('#'))
      .map(({ from }) => nameOf(from)),
  )
  const foreign = [...used].filter((name) => !name.startsWith('node:') && !builtinModules.includes(name))
  assert.deepEqual(
    foreign.filter((name) => !declared.includes(name)),
    [],
  )
})

test('only the package `node` runs an install script, and npm does not ask about it', () => {
  const { allowScripts, dependencies, peerDependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const scripted = Object.entries<{ hasInstallScript?: true }>(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path.split('node_modules/').at(-1) ?? '')
  assert.deepEqual(allowScripts, Object.fromEntries(scripted.map((name) => [name, name === 'node'])))
  assert.ok(!('node' in { ...dependencies, ...peerDependencies }))
})

test('the top level of the repository holds no further folder or file', () => {
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
