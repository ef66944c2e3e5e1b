import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** The program as it was built. */
export const bin = join(root, 'dist/cli/bin.js')
