import { z } from 'zod'
import { durationText, parseDuration } from './duration-text.js'

/** The most milliseconds that a timer can wait. Node takes 2³¹ and more for 1, and would fire at once. */
export const LONGEST_WAIT = 596 * 3_600_000

const EXPECTED = 'expected a duration such as 30s, 5m or 1h30m'

/**
 * An option that holds a duration, at most `longest` milliseconds. The operator writes `30s`; the plugin gets
 * milliseconds.
 */
export function duration(longest = Number.MAX_SAFE_INTEGER) {
  return z.union([z.string(), z.literal(0)], { error: EXPECTED }).transform((written, context) => {
    const milliseconds = written === 0 ? 0 : parseDuration(written)
    if (milliseconds !== undefined && milliseconds <= longest) return milliseconds
    const message = milliseconds === undefined ? EXPECTED : `expected ${durationText(longest)} at most`
    context.issues.push({ code: 'custom', input: written, message })
    return z.NEVER
  })
}
