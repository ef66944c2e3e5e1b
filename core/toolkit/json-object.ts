import { randomBytes } from 'node:crypto'

export type JsonObject = Readonly<Record<string, unknown>>

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object that a text holds as JSON; `undefined` for anything else. */
export function jsonObject(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const STRING = /"((?:[^"\\]|\\.)*)"(\s*:)?/gs

/**
 * `JSON.parse`, also where V8 takes a name that is written with escapes for another one: in Node 24 and 26, when an object
 * that was parsed before has one in its place that begins as the escapes are written (nodejs/node#63785). A caller could
 * send such an object first, and have a claim of a token read as another. So names get a beginning that none had before.
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  // Of what is JSON alone: in other texts the expression below would try each quote up to the end.
  if (!text.includes('\\')) return value
  const mark = randomBytes(8).toString('hex')
  let marks = 0
  const marked = text.replace(STRING, (whole, inner: string, colon: string | undefined) =>
    colon === undefined ? whole : `"${mark}${marks++}~${inner}"${colon}`,
  )
  return JSON.parse(marked, (_name, member: unknown) =>
    isJsonObject(member) ? withoutMarks(member) : member,
  )
}

const withoutMarks = (value: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name.slice(name.indexOf('~') + 1), member]),
  )
