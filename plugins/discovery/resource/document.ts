import { ConfigError, type ResourceDocument } from 'sallyport'

/** One document of several parts: lists are joined without repeats, and single values must agree. */
export function mergedDocument(parts: readonly ResourceDocument[]): ResourceDocument {
  const merged = new Map<string, ResourceDocument[string]>()
  for (const part of parts) {
    for (const [field, value] of Object.entries(part))
      merged.set(field, joined(field, merged.get(field), value))
  }
  // An empty list has to be left out (RFC 9728, 2).
  return Object.fromEntries([...merged].filter(([, value]) => !Array.isArray(value) || value.length > 0))
}

function joined(
  field: string,
  before: ResourceDocument[string] | undefined,
  value: ResourceDocument[string],
): ResourceDocument[string] {
  if (before === undefined || before === value) return value
  if (typeof before === 'object' && typeof value === 'object') return [...new Set([...before, ...value])]
  throw new ConfigError([
    { place: field, message: 'two parts of the resource metadata give it different values' },
  ])
}
