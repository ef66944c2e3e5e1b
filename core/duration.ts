import { z } from 'zod'

const PER_UNIT: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 }
const EXPECTED = 'expected a duration such as 30s, 5m or 1h30m'

/** `2m30s` in milliseconds: whole numbers, units from large to small, each once; a bare number only when it is 0. */
function parsed(written: string | 0): number | undefined {
  if (written === 0 || written === '0') return 0
  const match = /^(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?$/.exec(written)
  if (match === null || written === '') return undefined
  const total = Object.values(PER_UNIT).reduce(
    (sum, size, index) => sum + Number(match[index + 1] ?? 0) * size,
    0,
  )
  return Number.isSafeInteger(total) ? total : undefined
}

/** An option that holds a span of time, at most `longest` milliseconds. It is written as `30s`; the plugin gets milliseconds. */
export function duration(longest = Number.MAX_SAFE_INTEGER) {
  return z.union([z.string(), z.literal(0)], { error: EXPECTED }).transform((written, context) => {
    const milliseconds = parsed(written)
    if (milliseconds !== undefined && milliseconds <= longest) return milliseconds
    const message = milliseconds === undefined ? EXPECTED : `expected ${longest / 1000}s at most`
    context.issues.push({ code: 'custom', input: written, message })
    return z.NEVER
  })
}
