import { join } from 'node:path'
import { packageOf } from './package.js'

// What starts programs starts the package as it is published: `node --import ./test/packaged.ts` makes it, once for a run.
process.env['SALLYPORT_TEST_PACKAGE'] ??= packageOf(join(import.meta.dirname, '..'))
