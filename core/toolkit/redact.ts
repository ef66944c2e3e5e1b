import { isJsonObject, type JsonObject } from './json-object.js'

/** Printed instead of a secret. */
const HIDDEN = '***'

// The schema for a reference that cannot be resolved: its target may be marked as a secret.
const unresolved: JsonObject = { writeOnly: true }

/**
 * A copy of `value` in which `***` replaces everything that its JSON Schema marks as `writeOnly`; one of several
 * branches is enough. It also hides everything that the schema does not describe, and without a schema every text. A
 * URL keeps its host and its path: its query, its fragment and its user may hold a key.
 */
export function redact(value: unknown, schema: unknown): unknown {
  return redacted(value, schema === undefined ? [] : applicableSchemas(schema, schema), schema)
}

function redacted(value: unknown, schemas: readonly JsonObject[], root: unknown): unknown {
  if (value === undefined || value === null || typeof value === 'boolean') return value
  if (schemas.some(({ writeOnly }) => writeOnly === true)) return HIDDEN
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
    if (!isPlain(value)) return HIDDEN
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
  return schemas.length === 0 ? HIDDEN : typeof value === 'string' ? withoutKeys(value) : value
}

// Keeps the text as it was written, which `URL` would change. The user of ssh is no key, but its password is one.
const URL_PARTS =
  /^(?<scheme>[a-z][a-z\d+.-]*:\/\/)(?:(?<user>[^/?#]*)@)?(?<hostAndPath>[^?#]*)(?<delimiter>[?#])?/i

function withoutKeys(text: string): string {
  const { scheme, user, hostAndPath, delimiter } = URL_PARTS.exec(text)?.groups ?? {}
  if (scheme === undefined || hostAndPath === undefined) return text
  const isKey = user !== undefined && (/^https?:/i.test(scheme) || user.includes(':'))
  const shownUser = isKey ? HIDDEN : user
  return `${scheme}${shownUser === undefined ? '' : `${shownUser}@`}${hostAndPath}${delimiter === undefined ? '' : delimiter + HIDDEN}`
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
