import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const project = join(import.meta.dirname, '../..')
const [folder, extension] = [fileURLToPath(new URL('../..', import.meta.url)), import.meta.url.slice(-3)]
const isCompiled = extension === '.js'

/**
 * How another process runs the sources of the project: as this one does. `npm test` has compiled all of them, and to compile
 * them once more in each process takes more time than most tests.
 */
export const ownSources = {
  /** Arguments of Node. */
  node: isCompiled ? ['-C', 'compiled'] : ['-C', 'source', '--import', import.meta.resolve('tsx')],
  /** From where text given to `--eval` finds `sallyport`. */
  folder,
  /** What runs in place of a file of the project. */
  script: (path: string): string =>
    isCompiled ? join(folder, relative(project, path)).replace(/\.ts$/, extension) : path,
}
