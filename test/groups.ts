import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Test files that share a process. */
export type Group = readonly string[]

// More of them would leave the other processes without work at the end.
const LARGEST = 6

/**
 * Files of one folder share processes: each has to load the gateway, and runs it slowly until its code is warm. That takes
 * a third less processor time than a process for each.
 */
export function groupsOf(files: readonly string[]): readonly Group[] {
  const folders = new Map<string, string[]>()
  for (const file of files) {
    // One that ends in `.apart.test.ts` changes what the others of its process would see.
    const folder = file.endsWith('.apart.test.ts') ? file : dirname(file).split('/', 2).join('/')
    folders.set(folder, [...(folders.get(folder) ?? []), file])
  }
  return [...folders.values()].flatMap((all) => {
    const size = Math.ceil(all.length / Math.ceil(all.length / LARGEST))
    return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
      all.slice(index * size, (index + 1) * size),
    )
  })
}

/** Writes the file that runs a group, and returns its path. One file needs no other. */
export function writeGroup(sources: string, group: Group): string {
  const compiled = group.map((file) => join(sources, file.replace(/\.ts$/, '.js')))
  const [first = ''] = compiled
  if (compiled.length === 1) return first
  const path = first.replace(/\.test\.js$/, '.group.js')
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, compiled.map((file) => `import ${JSON.stringify(file)}\n`).join(''))
  return path
}

/** The test files that a path stands for: itself, or those of the group that it runs. */
export function filesIn(path: string, groups: readonly Group[]): readonly string[] {
  return (
    groups.find(
      ([first, second]) => second !== undefined && path === first?.replace(/\.test\.ts$/, '.group.ts'),
    ) ?? [path]
  )
}
