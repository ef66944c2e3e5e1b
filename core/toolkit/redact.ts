import { isJsonObject, type JsonObject } from './json-object.js'

/** What is printed in place of a secret. */
const hidden = '***'

// For a reference that cannot be resolved: its target may be marked.
const unresolved: JsonObject = { writeOnly: true }

/**
 * A copy of `value` in which everything that its JSON Schema marks as `writeOnly` is `***`; one of several branches is
 * enough. What the schema does not describe, and every text when there is no schema, is hidden too. Of a URL, where it is and
 * its path are told: its query, its fragment and its user may hold a key.
 */
export function redact(value: unknown, schema: unknown): unknown {
  return redacted(value, schema === undefined ? [] : applicableSchemas(schema, schema), schema)
}

function redacted(value: unknown, schemas: readonly JsonObject[], root: unknown): unknown {
  if (value === undefined || value === null || typeof value === 'boolean') return value
  if (schemas.some(({ writeOnly }) => writeOnly === true)) return hidden
  if (Array.isArray(value)) {
    return value.map((item, index) =>
      redacted(
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
        redacted(
          item,
          within(schemas, root, (schema) => fieldSchemas(schema, key)),
          root,
        ),
      ]),
    )
  }
  if (typeof value === 'number') return value
  return schemas.length === 0 ? hidden : typeof value === 'string' ? withoutKeys(value) : value
}

// As it was written, and not by `URL`, which writes it anew. The user of ssh is no key, and its password is one.
const URL_PARTS = /^(?<scheme>[a-z][a-z\d+.-]*:\/\/)(?:(?<user>[^/?#]*)@)?(?<place>[^?#]*)(?<mark>[?#])?/i

function withoutKeys(text: string): string {
  const { scheme, user, place, mark } = URL_PARTS.exec(text)?.groups ?? {}
  if (scheme === undefined || place === undefined) return text
  const isKey = user !== undefined && (/^https?:/i.test(scheme) || user.includes(':'))
  const shownUser = isKey ? hidden : user
  return `${scheme}${shownUser === undefined ? '' : `${shownUser}@`}${place}${mark === undefined ? '' : mark + hidden}`
}

/** Every text and number in `value` that its JSON Schema marks as `writeOnly`, itself or what it is part of. */
export function secretsIn(value: unknown, schema: unknown): string[] {
  return schema === undefined ? [] : marked(value, applicableSchemas(schema, schema), schema, false)
}

function marked(value: unknown, schemas: readonly JsonObject[], root: unknown, isPart: boolean): string[] {
  const isSecret = isPart || schemas.some(({ writeOnly }) => writeOnly === true)
  if (typeof value === 'string' || typeof value === 'number') return isSecret ? [String(value)] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => {
    const inner = (schema: JsonObject) =>
      Array.isArray(value) ? itemSchema(schema, Number(key)) : fieldSchemas(schema, key)
    return marked(item, within(schemas, root, inner), root, isSecret)
  })
}

function within(
  schemas: readonly JsonObject[],
  root: unknown,
  inner: (schema: JsonObject) => readonly unknown[],
): JsonObject[] {
  return schemas.flatMap(inner).flatMap((schema) => applicableSchemas(schema, root))
}

/** Every schema that applies to the same value: the schema itself, its branches and their references. */
function applicableSchemas(schema: unknown, root: unknown): JsonObject[] {
  const found = new Set<JsonObject>()
  const waiting: unknown[] = [schema]
  for (const next of waiting) {
    const described = next === true ? {} : next
    if (!isJsonObject(described) || found.has(described)) continue
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
  const named = isJsonObject(properties) && Object.hasOwn(properties, key) ? [properties[key]] : []
  const patterned = isJsonObject(patternProperties)
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
  let target: unknown = root
  for (const step of steps) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(target)) target = target[Number(key)]
    else target = isJsonObject(target) && Object.hasOwn(target, key) ? target[key] : undefined
  }
  return target
}

function matches(pattern: string, key: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(key)
  } catch {
    // An invalid pattern: it may be the one that marks a secret.
    return true
  }
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
