import { isJsonObject, type JsonObject } from 'sallyport/toolkit'

const ANNOTATIONS = new Set(['description', 'default', 'example', 'examples', '$comment'])
const OF_SCALARS = new Set(['type', 'enum', 'pattern', 'minLength', 'maxLength', 'format', 'not'])
const OF_OBJECTS = new Set(['type', 'properties', 'required', 'additionalProperties', 'anyOf'])

/** One form that an object may have. */
interface Shape {
  readonly properties: JsonObject
  readonly required: readonly string[]
  readonly rest: JsonObject
}

/**
 * The published schema, made strict: it refuses members that the schema does not name. `additionalProperties` alone
 * cannot refuse them, since `allOf` spreads the members of an object over several schemas; here each object is one
 * schema. Where an object has several forms, its member `type` selects one, so that the errors are about that form. A
 * keyword of JSON Schema that this code does not know throws, so that no rule of the published schema gets lost.
 */
export function strictSchema(published: JsonObject): JsonObject {
  const definitions = objectIn(published['definitions'])
  const close = closer(definitions)
  return { $ref: published['$ref'], definitions: mapped(definitions, close) }
}

function closer(definitions: JsonObject): (schema: unknown) => JsonObject {
  const shapesOf = (written: unknown): readonly Shape[] => {
    const schema = objectIn(written)
    if (typeof schema['$ref'] === 'string') return shapesOf(definitions[nameIn(schema['$ref'])])
    if (Array.isArray(schema['allOf'])) {
      only(schema, new Set(['allOf']))
      return schema['allOf'].map(shapesOf).reduce((before, next) => before.flatMap((a) => next.map(merge(a))))
    }
    if (isUnion(schema)) {
      only(schema, new Set(['anyOf']))
      return schema['anyOf'].flatMap(shapesOf)
    }
    only(schema, OF_OBJECTS)
    const { properties, required, ...rest } = without(schema, 'type')
    return [{ properties: objectIn(properties ?? {}), required: texts(required ?? []), rest }]
  }

  const close = (written: unknown): JsonObject => {
    const schema = objectIn(written)
    if (schema['$ref'] !== undefined) return { $ref: schema['$ref'] }
    if (schema['type'] === 'array') return { type: 'array', items: close(schema['items']) }
    if (schema['type'] !== 'object' && schema['allOf'] === undefined && schema['anyOf'] === undefined) {
      only(schema, OF_SCALARS)
      return without(schema)
    }
    const shapes = shapesOf(schema).map(closed)
    const [first = {}, second] = shapes
    if (second === undefined) return first
    const oneOf = schema['allOf'] === undefined ? schema['anyOf'] : shapes
    return { type: 'object', discriminator: { propertyName: 'type' }, required: ['type'], oneOf }
  }

  const closed = ({ properties, required, rest }: Shape): JsonObject => {
    const { additionalProperties, ...others } = rest
    const open = isJsonObject(additionalProperties) ? close(additionalProperties) : additionalProperties
    const members = { properties: mapped(properties, close), additionalProperties: open ?? false }
    return { type: 'object', ...members, required: [...new Set(required)], ...others }
  }
  return close
}

const merge =
  (a: Shape) =>
  (b: Shape): Shape => ({
    properties: { ...a.properties, ...b.properties },
    required: [...a.required, ...b.required],
    rest: { ...a.rest, ...b.rest },
  })

/** Alternatives by name. Any other `anyOf` says which members are required together. */
const isUnion = (schema: JsonObject): schema is JsonObject & { readonly anyOf: readonly unknown[] } =>
  Array.isArray(schema['anyOf']) && schema['anyOf'].every((each) => isJsonObject(each) && '$ref' in each)

function only(schema: JsonObject, known: ReadonlySet<string>): void {
  const unknown = Object.keys(schema).find((key) => !known.has(key) && !ANNOTATIONS.has(key))
  if (unknown !== undefined)
    throw new Error(`the schema of server documents has an unknown keyword ${unknown}`)
}

const without = (schema: JsonObject, keyword?: string): JsonObject =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => key !== keyword && !ANNOTATIONS.has(key)))

function objectIn(value: unknown): JsonObject {
  if (isJsonObject(value)) return value
  throw new Error('the schema of server documents has no object where one is expected')
}

const mapped = (object: JsonObject, change: (value: unknown) => unknown): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]))

const nameIn = (reference: string): string => reference.replace(/^#\/definitions\//, '')

const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [])
