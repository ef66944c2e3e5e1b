// Bundles our own modules into few files, which start faster than many. So do the packages below, of which a part is used.
// Every other package stays outside, and is installed.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { commitOf } from './commit.mjs'

const { outdir } = parseArgs({ options: { outdir: { type: 'string', default: 'dist' } } }).values

const BUNDLED = new Set(['prom-client', 'undici', 'yaml'])

const packageOf = (path) => path.split('/', path.startsWith('@') ? 2 : 1).join('/')

/** Own modules and the packages above, with all that those import. */
const onlyBundled = {
  name: 'only bundled packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./#]/ }, ({ path, kind, importer }) => {
      if (kind === 'entry-point' || /^sallyport(?:\/|$)/.test(path)) return undefined
      const isInside = importer.includes(`${sep}node_modules${sep}`)
      return isInside || BUNDLED.has(packageOf(path)) ? undefined : { path, external: true }
    })
  },
}

const commit = commitOf('.')

const { metafile } = await build({
  entryPoints: [
    ...['core/index.ts', 'core/toolkit.ts', 'core/embed.ts', 'core/toolkit/yaml/child.ts'],
    ...['plugins/index.ts', 'plugins/presets/*.ts', 'plugins/registry/parse-thread.ts'],
    'plugins/registry/publish/validation/server-json.ts',
    ...['cli/bin*.ts', 'cli/tools/verify/child.ts', 'test/kit/index.ts'],
  ],
  bundle: true,
  splitting: true,
  metafile: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  conditions: ['source'],
  plugins: [onlyBundled],
  // What `/version` says.
  define: commit === undefined ? {} : { 'process.env.SALLYPORT_COMMIT': JSON.stringify(commit) },
  // Packages that are not ES modules require those of Node.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)",
  },
  outdir,
  outbase: '.',
  chunkNames: 'parts/[name]-[hash]',
  logLevel: 'warning',
})

const folders = Object.keys(metafile.inputs).flatMap(
  (file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? [],
)
const licenses = [...new Set(folders)].toSorted().map((folder) => {
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name))
  if (file === undefined) throw new Error(`${folder} has no license file`)
  return `${folder.replace(/^.*node_modules\//, '')}\n\n${readFileSync(join(folder, file), 'utf8')}`
})
const schema = 'plugins/registry/publish/validation/server.schema'
licenses.push(`server.schema.json of the MCP registry\n\n${readFileSync(`${schema}.LICENSE`, 'utf8')}`)
writeFileSync(join(outdir, 'LICENSES'), licenses.join('\n---\n\n'))
