import { join } from 'node:path'

/** How a child process runs the sources of the project. */
export const ownSources = {
  /** Arguments of Node. */
  node: ['-C', 'source', '--import', import.meta.resolve('tsx')],
  /** The working directory from which `--eval` finds `sallyport`. */
  folder: join(import.meta.dirname, '../..'),
  script: (path: string): string => path,
}
