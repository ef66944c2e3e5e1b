import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve, sep } from 'node:path'
import type { PluginKind } from '../../commands/plugin-new/flags.js'

/** The files of a new plugin by name: the example of its kind, and the files that make it a package. */
export function pluginFiles(name: string, kind: PluginKind): Readonly<Record<string, string>> {
  const manifestPath = createRequire(import.meta.url).resolve('sallyport/package.json')
  const home = dirname(manifestPath)
  const copied = (file: string): string =>
    readFileSync(join(home, 'examples/plugins', kind, file), 'utf8').replaceAll(`my-${kind}`, name)
  const source = copied('index.ts')
  return {
    'package.json': json(manifestOf(name, kind, source, home)),
    'tsconfig.json': json({ compilerOptions, include: ['index.ts'] }),
    'index.ts': source,
    'index.test.ts': copied('index.test.ts'),
    'README.md': copied('README.md') + working(name),
    '.gitignore': 'node_modules/\ndist/\n',
  }
}

function manifestOf(name: string, kind: PluginKind, source: string, home: string): object {
  const own: Manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  const { version, engines, dependencies, devDependencies, allowScripts } = own
  const sallyport = `^${version}`
  const tools = ['@types/node', 'tsx', 'typescript'].map((tool) => [tool, devDependencies[tool]])
  return {
    name,
    version: '0.1.0',
    description: `A plugin for Sallyport: ${kind}.`,
    keywords: ['sallyport-plugin'],
    type: 'module',
    engines,
    exports: './dist/index.js',
    files: ['dist'],
    scripts: {
      build: 'tsc',
      test: 'node --import tsx --test index.test.ts',
      verify: 'npm run build && sallyport plugin verify .',
      prepack: 'npm run build',
    },
    allowScripts,
    peerDependencies: { sallyport },
    ...(source.includes("'zod'") && { dependencies: { zod: dependencies['zod'] } }),
    devDependencies: {
      ...Object.fromEntries(tools),
      sallyport: dependencyOn(home, version),
    },
  }
}

interface Manifest {
  readonly version: string
  readonly engines: Readonly<Record<string, string>>
  readonly allowScripts: Readonly<Record<string, boolean>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

const compilerOptions = {
  target: 'es2023',
  module: 'nodenext',
  types: ['node'],
  strict: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
  declaration: true,
  rootDir: '.',
  outDir: 'dist',
}

const working = (name: string): string => `
## Working on it

\`\`\`sh
npm install
npm test          # its own test
npm run verify    # builds it, and checks it against its contract
\`\`\`

\`npm run verify -- --with options.yaml\` gives it options, such as paths, for which verify has no sample value.

While you work on it, a configuration file names it by the path of its \`dist/index.js\`, such as
\`./${name}/dist/index.js\`; once it is installed beside the file, by its package name.
`

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`

/**
 * The dependency on exactly this version of the package, for the tests of the new plugin: a checkout or an installed
 * tarball is not a published version.
 */
export function dependencyOn(home: string, version: string): string {
  const at = home.indexOf(`${sep}node_modules${sep}`)
  if (at === -1) return `file:${home}`
  const root = home.slice(0, at)
  const resolved = resolvedIn(root, relative(root, home).replaceAll(sep, '/'))
  return resolved?.startsWith('file:')
    ? `file:${resolve(root, resolved.slice('file:'.length))}`
    : `^${version}`
}

/** The source from which npm installed a package; other package managers keep no such file. */
function resolvedIn(root: string, path: string): string | undefined {
  try {
    const { packages } = JSON.parse(readFileSync(join(root, 'node_modules/.package-lock.json'), 'utf8'))
    const { resolved }: { resolved?: unknown } = packages[path]
    return typeof resolved === 'string' ? resolved : undefined
  } catch {
    return undefined
  }
}
