import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { transformSync } from 'esbuild'
import { folder } from '#kit/folder.js'
import { blocks, root } from './pages.js'

/** The commands of a page, each on one line. */
export const commandsIn = (page: string): string[] =>
  blocks(page, 'sh')
    .flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n'))
    .map((line) => line.replace(/(?:^|\s+)#.*$/, '').trim())
    .filter((line) => line !== '')

/** A folder with the files that a page names, and the packages that they import. */
export function homeOf(t: TestContext, page: string): string {
  const samples = blocks(page, 'yaml')
  const sample = (kind: string): string => samples.find(({ words }) => words === kind)?.text ?? ''
  const home = folder(t, {
    'sallyport.yaml': sample(''),
    'gateway.yaml': sample('run'),
    'proxy.yaml': sample('proxy'),
    'servers.json': '[]',
    token: 'x',
  })
  mkdirSync(join(home, 'node_modules'))
  symlinkSync(join(root, 'node_modules/zod'), join(home, 'node_modules/zod'))
  if (!page.startsWith('examples/')) return home

  // An example brings its own files, and some name those of another.
  cpSync(join(root, 'examples'), join(home, 'examples'), { recursive: true })
  const exampleFolder = join(home, dirname(page))
  writeFileSync(join(exampleFolder, 'token'), 'x')
  if (page.startsWith('examples/plugins/')) buildPlugins(home, exampleFolder)
  return exampleFolder
}

/** The plugins that `sallyport plugin new` copies, as packages and as folders beside the page: `my-guard`. */
function buildPlugins(home: string, exampleFolder: string): void {
  const plugins = join(root, 'examples/plugins')
  for (const kind of readdirSync(plugins).filter((name) => existsSync(join(plugins, name, 'index.ts')))) {
    const { code } = transformSync(readFileSync(join(plugins, kind, 'index.ts'), 'utf8'), { loader: 'ts' })
    for (const at of [join(home, 'node_modules'), exampleFolder]) {
      const dist = join(at, `my-${kind}`, 'dist')
      mkdirSync(dist, { recursive: true })
      writeFileSync(join(dist, 'index.js'), code)
      writeFileSync(join(dist, '../package.json'), '{"type":"module","exports":"./dist/index.js"}')
    }
  }
}
