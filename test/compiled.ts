import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { transformSync } from 'esbuild'

const FOLDERS = ['core', 'plugins', 'cli', 'test', 'examples']
const NOT_LINKED = new Set([...FOLDERS, '.git', 'package.json'])

/**
 * Compiles every source once, in place of once in each test process, into a new folder that mirrors the project. Its
 * package has the condition `compiled`. Removed when this process ends.
 */
export function compiled(root: string): string {
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'sallyport-tests-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const name of readdirSync(root))
    if (!NOT_LINKED.has(name)) symlinkSync(join(root, name), join(folder, name))
  const manifest = readFileSync(join(root, 'package.json'), 'utf8')
  writeFileSync(
    join(folder, 'package.json'),
    manifest.replaceAll(/"source": ("[^"]+)\.ts"/g, '"compiled": $1.js"'),
  )
  for (const name of FOLDERS) {
    for (const entry of readdirSync(join(root, name), { recursive: true, withFileTypes: true })) {
      const source = join(entry.parentPath, entry.name)
      const target = join(folder, source.slice(root.length))
      if (entry.isDirectory() || source.includes('/node_modules/') || source.endsWith('.d.ts')) continue
      mkdirSync(dirname(target), { recursive: true })
      // The sources too: templates are read and copied.
      symlinkSync(source, target)
      if (source.endsWith('.ts')) compile(source, target)
    }
  }
  return folder
}

function compile(source: string, target: string): void {
  const { code } = transformSync(readFileSync(source, 'utf8'), {
    loader: 'ts',
    format: 'esm',
    target: 'node20.19',
    sourcefile: target,
    sourcemap: 'inline',
    sourcesContent: false,
    // Tests find the files beside them where the sources are.
    define: {
      'import.meta.dirname': JSON.stringify(dirname(source)),
      'import.meta.filename': JSON.stringify(source),
    },
  })
  writeFileSync(target.replace(/\.ts$/, '.js'), code)
}
