import type { Input, Transport } from './server-details.js'

/** What a user has to fill in: a header, a variable of the environment, or one in braces in a URL or header. */
export type Field = Pick<Input, 'name' | 'description' | 'isSecret' | 'value' | 'default'>

/** Variables in braces, by name. */
export type Fields = ReadonlyMap<string, Field>

// Each puts its value, which may be long, into every snippet.
const MOST_USES = 32

const VARIABLE = /\{([A-Za-z_][\w.-]{0,63})\}/g

/** Puts values where a text has variables in braces. */
export const filled = (text: string, fields: Fields, placeholder: (name: string) => string): string =>
  text.replaceAll(VARIABLE, (_, name) => fields.get(name)?.value ?? placeholder(name))

/** The variables in the URL and headers of a remote server, declared or not; undefined where they are used too often. */
export function fieldsOf({ url = '', headers = [], variables = {} }: Transport): Fields | undefined {
  const texts = [url, ...headers.map((header) => header.value ?? header.default ?? '')]
  const names = texts.flatMap((text) => [...text.matchAll(VARIABLE)].map(([, name = '']) => name))
  if (names.length > MOST_USES) return undefined
  const declared = new Map(
    [variables, ...headers.map((header) => header.variables ?? {})].flatMap((each) => Object.entries(each)),
  )
  return new Map(names.map((name) => [name, { ...declared.get(name), name }]))
}
