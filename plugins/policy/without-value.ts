import type { z } from 'zod'

/**
 * Refuses keys without a value, as unset variables leave them: they would make a rule hold for more callers than meant.
 */
export function refuseWithoutValue(written: object, context: z.core.$RefinementCtx): void {
  for (const [key, value] of Object.entries(written)) {
    const message = 'has no value: write one, or leave the key out'
    if (value === undefined) context.addIssue({ code: 'custom', path: [key], message })
  }
}
