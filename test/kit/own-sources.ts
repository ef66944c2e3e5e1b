import { join } from 'node:path'

/** How another process runs the sources of the project. */
export const ownSources = {
  /** Arguments of Node. */
  node: ['-C', 'source', '--import', import.meta.resolve('tsx')],
  /** From where text given to `--eval` finds `sallyport`. */
  folder: join(import.meta.dirname, '../..'),
  script: (path: string): string => path,
}
