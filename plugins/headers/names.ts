import type { z } from 'zod'

/** Refuses a list with a duplicate name. */
export function refuseDuplicates(
  list: readonly { readonly name: string }[],
  context: z.core.$RefinementCtx,
): void {
  const names = list.map(({ name }) => name)
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) === index) continue
    context.issues.push({
      code: 'custom',
      input: name,
      path: [index, 'name'],
      message: `"${name}" is in the list already`,
    })
  }
}
