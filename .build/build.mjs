// Makes `dist`: our own code in few files, since Node takes longer to find, open and link a module than most of them take
// to run. Packages stay outside, where a scanner sees them and an operator can replace one.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { rolldown } from 'rolldown'
import { commitOf } from './commit.mjs'

const { out, types } = parseArgs({
  options: { out: { type: 'string', default: 'dist' }, types: { type: 'boolean', default: true } },
  allowNegative: true,
}).values

// What these need is one file: the first lines of every program, the command line, and what every gateway loads.
const TOGETHER = {
  // What threads load too: the rest of its file would cost them 80 ms.
  small: ['core/toolkit/json-object', 'core/toolkit/metadata-keys'],
  start: ['cli/start'],
  program: ['cli/program', 'cli/colour', 'cli/line/dispatch', 'cli/config/hidden', 'core/toolkit/address'],
  gateway: [
    ...['core/index', 'core/toolkit', 'core/embed', 'cli/run-gateway', 'plugins/index'],
    ...['cli/config/preset-settings', 'plugins/presets/incoming', 'plugins/presets/tls', 'plugins/auth/oidc'],
    ...['plugins/discovery/issuer', 'plugins/discovery/resource', 'plugins/http/cors', 'plugins/listen/http'],
    ...['plugins/guard/host', 'plugins/guard/origin', 'plugins/guard/public', 'plugins/log/access'],
  ],
}

const entries = [
  ...['core/index', 'core/toolkit', 'core/embed', 'core/toolkit/yaml/child', 'cli/start'],
  ...['plugins/index', 'plugins/registry/parse-thread', 'plugins/store/sqlite/thread'],
  ...['cli/tools/verify/child', 'cli/tools/trial/child', 'test/kit/index'],
  'plugins/registry/publish/validation/server-json',
  ...readdirSync('plugins/presets')
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `plugins/presets/${name.slice(0, -'.ts'.length)}`),
]

const WEEK = 7 * 24 * 60 * 60 * 1000

// What runs from the former build finds every file, until this one is whole.
const fresh = `${out}.new-${process.pid}`
try {
  await bundle()
  if (types) declare()
  replace()
} finally {
  rmSync(fresh, { recursive: true, force: true })
}

async function bundle() {
  const commit = commitOf('.')
  const own = (id) => id.slice(join(import.meta.dirname, '../').length)
  const build = await rolldown({
    input: Object.fromEntries(entries.map((path) => [path, `${path}.ts`])),
    platform: 'node',
    resolve: { conditionNames: ['source'] },
    external: (path) => !/^(?:[./#\0]|sallyport(?:\/|$)|@oxc-project\/)/.test(path),
    transform: {
      target: 'node24',
      // What `/version` says.
      define: commit === undefined ? {} : { 'process.env.SALLYPORT_COMMIT': JSON.stringify(commit) },
    },
    onwarn(warning) {
      throw new Error(warning.message)
    },
    // It only exports what others have: who imports one of them loads not all.
    treeshake: { moduleSideEffects: (id) => !id.endsWith('/core/toolkit.ts') },
    // What one file imports at once, another may import when it is needed.
    checks: { ineffectiveDynamicImport: false },
  })
  await build.write({
    dir: fresh,
    format: 'esm',
    // Types have them.
    comments: false,
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name]-[hash].js',
    codeSplitting: {
      groups: Object.entries(TOGETHER).map(([name, paths]) => ({
        name,
        test: (id) => paths.some((path) => own(id) === `${path}.ts`),
      })),
    },
  })
}

function declare() {
  const { status } = spawnSync('tsc', ['--emitDeclarationOnly', '--outDir', fresh], { stdio: 'inherit' })
  if (status !== 0) throw new Error('the types could not be written')
}

/**
 * File by file: a program that starts meanwhile finds each file. The parts of former builds stay for a week, since a gateway
 * that runs from one of them imports some only when it needs them.
 */
function replace() {
  const made = filesIn(fresh).toSorted((a, b) => Number(isPart(b)) - Number(isPart(a)))
  for (const path of made) {
    mkdirSync(dirname(join(out, path)), { recursive: true })
    renameSync(join(fresh, path), join(out, path))
  }
  const others = filesIn(out).filter((path) => !made.includes(path))
  const kept = others.filter((path) => isPart(path) && statSync(join(out, path)).mtimeMs > Date.now() - WEEK)
  for (const path of others) if (!kept.includes(path)) rmSync(join(out, path))
  // They are no part of the package.
  if (kept.length > 0) writeFileSync(join(out, '.npmignore'), kept.map((path) => `/${path}\n`).join(''))
}

function filesIn(folder) {
  if (!existsSync(folder)) return []
  const found = readdirSync(folder, { recursive: true, withFileTypes: true })
  return found
    .filter((each) => !each.isDirectory())
    .map((each) => relative(folder, join(each.parentPath, each.name)).replaceAll('\\', '/'))
}

function isPart(path) {
  return path.startsWith('parts/')
}
