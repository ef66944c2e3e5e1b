import { join } from 'node:path'
import { packageOf } from './package.js'

// `node --import ./test/packaged.ts` builds the package once for a run; the tests start the program of this package.
process.env['SALLYPORT_TEST_PACKAGE'] ??= packageOf(join(import.meta.dirname, '..'))
