import type { z } from 'zod'

type Context = z.core.$RefinementCtx
type Path = readonly (string | number)[]

/** Reports a mistake at a path of the settings; other rules still run. */
export function refuse(context: Context, path: Path, message: string): void {
  context.issues.push({ code: 'custom', input: undefined, path: [...path], message, continue: true })
}

/** Reports an unknown name, or an unknown item of a list: the command line adds the nearest known name, or all. */
export function refuseUnknown(
  context: Context,
  path: Path,
  message: string,
  params: { readonly known: readonly string[] } | { readonly namedIn: Path },
): void {
  context.issues.push({ code: 'custom', input: undefined, path: [...path], message, params, continue: true })
}

/** Refuses repeated names in a list. */
export function refuseRepeats(names: readonly string[], at: Path, context: Context): void {
  for (const [index, name] of names.entries())
    if (names.indexOf(name) < index)
      refuse(context, [...at, index, 'name'], 'this name is in the list already')
}

/** Refuses a section that names no kind of plugin or several: one of ours, or `use` with the options of another. */
export const oneKindOf =
  (...own: readonly string[]) =>
  (written: Readonly<Record<string, unknown>>, context: Context): void => {
    const kinds = [...own, 'use']
    if (kinds.filter((kind) => written[kind] !== undefined).length !== 1)
      refuse(context, [], `expected exactly one of ${kinds.join(', ')}`)
    if (written['with'] !== undefined && written['use'] === undefined)
      refuse(context, ['with'], 'belongs to `use`, which is missing')
  }
