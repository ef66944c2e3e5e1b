import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** Builds the package as it is published, in a folder below `node_modules`. Removed when this process ends. */
export function packageOf(root: string, types = false): string {
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'sallyport-'))
  // Some tests start it as another user.
  chmodSync(folder, 0o755)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const { files }: { files: string[] } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const others = files.filter((pattern) => !/^!?dist/.test(pattern))
  for (const path of globSync(['package.json', 'README.md', 'LICENSE', ...others], { cwd: root }))
    cpSync(join(root, path), join(folder, path), { recursive: true })
  const built = spawnSync(
    process.execPath,
    ['.build/build.mjs', types ? '--types' : '--no-types', '--out', join(folder, 'dist')],
    {
      cwd: root,
      stdio: 'inherit',
    },
  )
  if (built.status !== 0) process.exit(1)
  return folder
}
