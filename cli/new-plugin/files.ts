import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import type { PluginKind } from '../options/plugin.js'
import { kinds } from './kinds.js'
import { dependencyOn } from './own-package.js'
import { readme } from './readme.js'

interface Manifest {
  readonly version: string
  readonly engines: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

/** The files of a new plugin, by their names. */
export function pluginFiles(name: string, kind: PluginKind): Readonly<Record<string, string>> {
  const require = createRequire(import.meta.url)
  const own: Manifest = require('sallyport/package.json')
  const home = dirname(require.resolve('sallyport/package.json'))
  return {
    'package.json': json(manifestOf(name, kind, own, home)),
    'tsconfig.json': json(compiler),
    'index.ts': kinds[kind].source.replaceAll('NAME', name),
    'index.test.ts': kinds[kind].test.replaceAll('NAME', name),
    'README.md': readme(name, kind),
    '.gitignore': 'node_modules/\ndist/\n',
  }
}

function manifestOf(name: string, kind: PluginKind, own: Manifest, home: string): object {
  const { version, engines, dependencies, devDependencies } = own
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
    peerDependencies: { sallyport },
    ...(kinds[kind].source.includes("'zod'") && { dependencies: { zod: dependencies['zod'] } }),
    devDependencies: {
      ...Object.fromEntries(tools),
      sallyport: dependencyOn(home, version),
    },
  }
}

const compiler = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    declaration: true,
    rootDir: '.',
    outDir: 'dist',
  },
  include: ['index.ts'],
}

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`
