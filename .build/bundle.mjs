// Bundles our own modules and most packages into few files: Node takes longer to find, open and link a module than most of
// them take to run. Every other package stays outside, and is installed.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { rolldown } from 'rolldown'
import { commitOf } from './commit.mjs'

const { outdir } = parseArgs({ options: { outdir: { type: 'string', default: 'dist' } } }).values

const BUNDLED = [
  ...['@fastify/reply-from', '@marcbachmann/cel-js', 'fastify', 'fastify-plugin', 'ipaddr.js', 'jose'],
  ...['oauth4webapi', 'openid-client', 'pino', 'prom-client', 'rate-limiter-flexible', 'reflect-metadata'],
  ...['sade', 'tsyringe', 'undici', 'yaml', 'zod'],
]

// Large, and few gateways need them.
const NEEDED_SELDOM = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler']

// What these need is one file: the first lines of every program, the command line, and what every gateway loads.
const TOGETHER = {
  start: ['cli/start'],
  program: ['cli/program', 'cli/colour', 'cli/line/dispatch'],
  gateway: [
    ...['core/index', 'core/toolkit', 'core/embed', 'cli/run-gateway', 'plugins/index'],
    ...['cli/config/preset-settings', 'plugins/presets/incoming', 'plugins/presets/tls', 'plugins/auth/oidc'],
    ...['plugins/discovery/issuer', 'plugins/discovery/resource', 'plugins/http/cors', 'plugins/listen/http'],
    ...['plugins/guard/host', 'plugins/guard/origin', 'plugins/guard/public', 'plugins/log/access'],
  ],
}

const packageOf = (path) => path.split('/', path.startsWith('@') ? 2 : 1).join('/')

const isOutside = (path, importer = '') => {
  if (/^(?:[./#\0]|sallyport(?:\/|$)|@oxc-project\/)/.test(path)) return false
  const isInside = importer.includes('/node_modules/')
  return NEEDED_SELDOM.includes(packageOf(path)) || !(isInside || BUNDLED.includes(packageOf(path)))
}

const folder = (path) => readdirSync(path).map((name) => join(path, name))
const entries = [
  ...['core/index.ts', 'core/toolkit.ts', 'core/embed.ts', 'core/toolkit/yaml/child.ts'],
  ...['plugins/index.ts', 'plugins/registry/parse-thread.ts', 'plugins/store/sqlite/thread.ts'],
  'plugins/registry/publish/validation/server-json.ts',
  ...['cli/tools/verify/child.ts', 'test/kit/index.ts'],
  ...folder('plugins/presets').filter((path) => path.endsWith('.ts')),
  ...folder('cli').filter((path) => path.startsWith('cli/bin')),
]

const commit = commitOf('.')

const own = (id) => id.slice(join(import.meta.dirname, '../').length)

// One character beyond Latin-1 makes V8 keep a whole file with two bytes for each, and read it more slowly.
const ascii = {
  name: 'ascii',
  generateBundle(_options, parts) {
    for (const part of Object.values(parts)) {
      if (part.type !== 'chunk') continue
      // Behind a backslash it would become another text.
      if (/\\[^\0-\x7f]/.test(part.code)) throw new Error(`${part.fileName}: no ASCII behind a backslash`)
      part.code = part.code.replaceAll(/[^\0-\x7f]/g, escaped)
    }
  },
}

const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

const bundle = await rolldown({
  input: Object.fromEntries(entries.map((path) => [path.replace(/\.ts$/, ''), path])),
  platform: 'node',
  resolve: { conditionNames: ['source'] },
  external: isOutside,
  transform: {
    target: 'node20.19',
    // What `/version` says.
    define: commit === undefined ? {} : { 'process.env.SALLYPORT_COMMIT': JSON.stringify(commit) },
  },
  onwarn(warning) {
    throw new Error(warning.message)
  },
  // What one file imports at once, another may import when it is needed.
  checks: { ineffectiveDynamicImport: false },
})
// What was there before is of no use, and would be published.
rmSync(join(outdir, 'parts'), { recursive: true, force: true })
const { output } = await bundle.write({
  dir: outdir,
  format: 'esm',
  // A tenth of the text. Licenses have a file of their own, and types have the comments.
  comments: false,
  plugins: [ascii],
  entryFileNames: '[name].js',
  chunkFileNames: 'parts/[name]-[hash].js',
  codeSplitting: {
    groups: Object.entries(TOGETHER).map(([name, paths]) => ({
      name,
      test: (id) => paths.some((path) => own(id) === `${path}.ts`),
    })),
  },
})

const modules = output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []))
const packages = modules.flatMap((id) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? [])
const licenses = [...new Set(packages)].toSorted().map((path) => {
  const { name, version, license, author } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  const file = readdirSync(path).find((each) => /^licen[cs]e/i.test(each))
  const text = file === undefined ? `${license}, ${author}\n` : readFileSync(join(path, file), 'utf8')
  return `${name} ${version}\n\n${text}`
})
const schema = 'plugins/registry/publish/validation/server.schema'
licenses.push(`server.schema.json of the MCP registry\n\n${readFileSync(`${schema}.LICENSE`, 'utf8')}`)
writeFileSync(join(outdir, 'LICENSES'), licenses.join('\n---\n\n'))
