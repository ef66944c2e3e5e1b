import { z } from 'zod'
import { parseSize } from './byte-size-text.js'

/**
 * An option that holds a number of bytes: 0, or at least `least`. The operator writes `100MiB`; the plugin gets
 * bytes.
 */
export function byteSize(least = 1) {
  const expected = `expected 0, or a number of bytes of at least ${least}, such as 64KiB or 100MiB`
  return z
    .union([z.string(), z.int().min(0, expected)], { error: expected })
    .transform((written, context): number => {
      const bytes = typeof written === 'number' ? written : parseSize(written)
      if (bytes !== undefined && (bytes === 0 || bytes >= least)) return bytes
      context.issues.push({ code: 'custom', input: written, message: expected })
      return z.NEVER
    })
}
