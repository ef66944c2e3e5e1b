import { nearest } from 'sallyport/problem'
import type { Complaint } from './complaint.js'
import { valueAt } from './complaint.js'
import type { Path } from './path.js'

/**
 * What a schema cannot say, because it is about two places at once. It reads the raw value, so that a mistake
 * somewhere else hides none of these.
 */
export function registryComplaints(value: unknown): readonly Complaint[] {
  return [
    ...missingOAuth(value),
    ...repeatedNames(value, ['auth', 'oauth', 'providers']),
    ...repeatedNames(value, ['sources']),
    ...repeatedNames(value, ['registries']),
    ...unknownSources(value),
    ...twicePlaced(value),
  ]
}

function missingOAuth(value: unknown): readonly Complaint[] {
  const path = ['auth', 'oauth']
  if (valueAt(value, ['auth', 'mode']) !== 'oauth' || valueAt(value, path) !== undefined) return []
  return [
    {
      path,
      message: 'is required in mode oauth; mode anonymous lets anybody in',
    },
  ]
}

function repeatedNames(value: unknown, path: Path): readonly Complaint[] {
  const names = namesIn(value, path)
  return names.flatMap((name, index) =>
    name !== undefined && names.indexOf(name) < index
      ? [
          {
            path: [...path, index, 'name'],
            message: 'this name stands in the list already',
          },
        ]
      : [],
  )
}

function unknownSources(value: unknown): readonly Complaint[] {
  const known = namesIn(value, ['sources']).filter((name) => name !== undefined)
  return listAt(value, ['registries']).flatMap((_registry, index) => {
    const path = ['registries', index, 'sources']
    return listAt(value, path).flatMap((source, at) => {
      if (typeof source !== 'string' || known.includes(source)) return []
      const suggestion = nearest(source, known)
      const message = 'no source has this name'
      return [
        {
          path: [...path, at],
          message,
          ...(suggestion === undefined ? {} : { suggestion }),
        },
      ]
    })
  })
}

function twicePlaced(value: unknown): readonly Complaint[] {
  return listAt(value, ['plugins']).flatMap((_plugin, index) => {
    const path = ['plugins', index]
    const both = ['before', 'after'].every((key) => valueAt(value, [...path, key]) !== undefined)
    return both ? [{ path, message: 'before or after is expected, not both' }] : []
  })
}

function namesIn(value: unknown, path: Path): readonly (string | undefined)[] {
  return listAt(value, path).map((item) => {
    const name = valueAt(item, ['name'])
    return typeof name === 'string' ? name : undefined
  })
}

function listAt(value: unknown, path: Path): readonly unknown[] {
  const list = valueAt(value, path)
  return Array.isArray(list) ? list : []
}
