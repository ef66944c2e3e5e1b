import type { z } from 'zod'

type Context = z.core.$RefinementCtx
type Path = readonly (string | number)[]

/** Reports what is wrong at a path of the settings, and lets further rules look at them. */
export function refuse(context: Context, path: Path, message: string): void {
  context.issues.push({ code: 'custom', input: undefined, path: [...path], message, continue: true })
}

/** Refuses names that are in a list twice. */
export function refuseRepeats(names: readonly string[], at: Path, context: Context): void {
  for (const [index, name] of names.entries())
    if (names.indexOf(name) < index)
      refuse(context, [...at, index, 'name'], 'this name is in the list already')
}
