import { readFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'

/**
 * Where a package manager finds this very version of the package, to test the new plugin with: a checkout or an
 * installed tarball is not a published version.
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

/** Where npm installed a package from; other package managers keep no such file. */
function resolvedIn(root: string, place: string): string | undefined {
  try {
    const { packages } = JSON.parse(readFileSync(join(root, 'node_modules/.package-lock.json'), 'utf8'))
    const { resolved }: { resolved?: unknown } = packages[place]
    return typeof resolved === 'string' ? resolved : undefined
  } catch {
    return undefined
  }
}
