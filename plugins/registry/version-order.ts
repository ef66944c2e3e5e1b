/** The fields by which versions of a server are sorted. */
export interface Versioned {
  readonly version: string
  /** Milliseconds since the epoch. */
  readonly publishedAt: number
}

/** A semantic version, with a `v` before it or not: its numbers, and its prerelease. */
export const SEMVER = /^v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/

/** A version, parsed once for many comparisons. */
export interface OrderKey extends Versioned {
  readonly semver: RegExpExecArray | null
}

export const orderKey = ({ version, publishedAt }: Versioned): OrderKey => ({
  version,
  publishedAt,
  semver: SEMVER.exec(version),
})

/**
 * Newest first: semantic versions in their order (semver 2.0.0, section 11), then all others by date of publication.
 * Equal ones are compared as text, so that the order is deterministic.
 */
export function newestFirst(a: OrderKey, b: OrderKey): number {
  if (a.semver === null && b.semver === null) {
    return b.publishedAt - a.publishedAt || byText(b.version, a.version)
  }
  if (a.semver === null) return 1
  if (b.semver === null) return -1
  return -(bySemver(a.semver, b.semver) || byText(a.version, b.version))
}

export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function bySemver(a: RegExpExecArray, b: RegExpExecArray): number {
  for (const part of [1, 2, 3]) {
    const order = byNumber(a[part] ?? '', b[part] ?? '')
    if (order !== 0) return order
  }
  return byPrerelease(a[4], b[4])
}

// A release is newer than its prereleases.
function byPrerelease(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  const left = a.split('.')
  const right = b.split('.')
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const order = byIdentifier(left[index] ?? '', right[index] ?? '')
    if (order !== 0) return order
  }
  return left.length - right.length
}

function byIdentifier(a: string, b: string): number {
  const left = /^\d+$/.test(a)
  const right = /^\d+$/.test(b)
  if (left && right) return byNumber(a, b)
  if (left !== right) return left ? -1 : 1
  return byText(a, b)
}

// As text, because a number may be larger than JavaScript's are exact.
function byNumber(a: string, b: string): number {
  const left = a.replace(/^0+(?=\d)/, '')
  const right = b.replace(/^0+(?=\d)/, '')
  return left.length - right.length || byText(left, right)
}
