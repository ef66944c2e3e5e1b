/** What is printed in place of a secret. */
const hidden = '***'

type JsonObject = Readonly<Record<string, unknown>>

// What a reference that leads nowhere may have marked.
const unresolved: JsonObject = { writeOnly: true }

/**
 * A copy of `value` in which everything that its JSON Schema marks as `writeOnly` is `***`. Where branches disagree, one that
 * marks is enough. What the schema does not describe, and every text when there is no schema, is hidden too.
 */
export function redact(value: unknown, schema: unknown): unknown {
  return copied(value, schema === undefined ? [] : flattened(schema, schema), schema)
}

function copied(value: unknown, schemas: readonly JsonObject[], root: unknown): unknown {
  if (value === undefined || value === null || typeof value === 'boolean') return value
  if (schemas.some(({ writeOnly }) => writeOnly === true)) return hidden
  if (Array.isArray(value)) {
    return value.map((item, index) =>
      copied(
        item,
        within(schemas, root, (schema) => itemSchema(schema, index)),
        root,
      ),
    )
  }
  if (typeof value === 'object') {
    if (!isPlain(value)) return hidden
    const entries = Object.entries(value)
    return Object.fromEntries(
      entries.map(([key, item]) => [
        key,
        copied(
          item,
          within(schemas, root, (schema) => fieldSchemas(schema, key)),
          root,
        ),
      ]),
    )
  }
  return schemas.length === 0 && typeof value !== 'number' ? hidden : value
}

function within(
  schemas: readonly JsonObject[],
  root: unknown,
  inner: (schema: JsonObject) => readonly unknown[],
): JsonObject[] {
  return schemas.flatMap(inner).flatMap((schema) => flattened(schema, root))
}

/** Every schema that has a say about the same place: the schema itself, its branches and what they refer to. */
function flattened(schema: unknown, root: unknown): JsonObject[] {
  const found = new Set<JsonObject>()
  const waiting: unknown[] = [schema]
  for (const next of waiting) {
    const described = next === true ? {} : next
    if (!isObject(described) || found.has(described)) continue
    found.add(described)
    const { $ref: reference } = described
    if (typeof reference === 'string') waiting.push(resolved(reference, root) ?? unresolved)
    for (const keyword of ['anyOf', 'oneOf', 'allOf']) waiting.push(...asList(described[keyword]))
    for (const keyword of ['if', 'then', 'else']) waiting.push(described[keyword])
  }
  return [...found]
}

function fieldSchemas(schema: JsonObject, key: string): readonly unknown[] {
  const { properties, patternProperties, additionalProperties, unevaluatedProperties } = schema
  const named = isObject(properties) && Object.hasOwn(properties, key) ? [properties[key]] : []
  const patterned = isObject(patternProperties)
    ? Object.entries(patternProperties).flatMap(([pattern, inner]) => (matches(pattern, key) ? [inner] : []))
    : []
  const known = [...named, ...patterned]
  return known.length > 0 ? known : [additionalProperties, unevaluatedProperties]
}

function itemSchema(
  { prefixItems, items, additionalItems, unevaluatedItems }: JsonObject,
  index: number,
): readonly unknown[] {
  const leading = asList(prefixItems ?? items)
  if (index < leading.length) return [leading[index]]
  return [Array.isArray(items) ? additionalItems : items, unevaluatedItems]
}

function resolved(reference: string, root: unknown): unknown {
  if (!reference.startsWith('#')) return undefined
  const steps = reference.split('/').slice(1)
  let place: unknown = root
  for (const step of steps) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(place)) place = place[Number(key)]
    else place = isObject(place) && Object.hasOwn(place, key) ? place[key] : undefined
  }
  return place
}

function matches(pattern: string, key: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(key)
  } catch {
    // Unreadable for us, so it may be the one that marks a secret.
    return true
  }
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
