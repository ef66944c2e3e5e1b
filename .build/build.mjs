// Makes `dist`: our own code in few files, since Node takes longer to find, open and link a module than most of them take
// to run. Packages stay outside, where a scanner sees them and an operator can replace one.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { rolldown } from 'rolldown'
import { commitOf } from './commit.mjs'

const { out, types } = parseArgs({
  options: { out: { type: 'string', default: 'dist' }, types: { type: 'boolean', default: true } },
  allowNegative: true,
}).values

// What these need is one file: the first lines of every program, the command line, and what every gateway loads.
const TOGETHER = {
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

// A gateway that runs from the former build finds every file, until this one is whole.
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

function replace() {
  const former = `${out}.old-${process.pid}`
  if (existsSync(out)) renameSync(out, former)
  renameSync(fresh, out)
  rmSync(former, { recursive: true, force: true })
}
