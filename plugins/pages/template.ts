import type { Input, Transport } from './server-details.js'

/** What a user has to fill in: a header, a variable of the environment, or one in braces in a URL or header. */
export type Field = Pick<Input, 'name' | 'description' | 'isSecret' | 'value' | 'default'>

const VARIABLE = /\{([A-Za-z_][\w.-]{0,63})\}/g

/** Puts values where a text has variables in braces. */
export const filled = (
  text: string,
  fields: readonly Field[],
  placeholder: (name: string) => string,
): string =>
  text.replaceAll(
    VARIABLE,
    (_, name) => fields.find((field) => field.name === name)?.value ?? placeholder(name),
  )

/** The variables in the URL and headers of a remote server, declared or not. */
export function fieldsOf({ url = '', headers = [], variables = {} }: Transport): readonly Field[] {
  const declared = new Map(
    [variables, ...headers.map((header) => header.variables ?? {})].flatMap((each) => Object.entries(each)),
  )
  const texts = [url, ...headers.map((header) => header.value ?? header.default ?? '')]
  const names = texts.flatMap((text) => [...text.matchAll(VARIABLE)].map(([, name = '']) => name))
  return [...new Set(names)].map((name) => ({ ...declared.get(name), name }))
}
