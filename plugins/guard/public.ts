import type { PublicAddress } from 'sallyport'

/** Keeps the current public address in the set of allowed values, and removes the former one. */
export function allowLatest(
  allowed: Set<string>,
  address: PublicAddress,
  toEntry: (origin: string) => string,
): void {
  const listed = new Set(allowed)
  let latest = ''
  address.watch((origin) => {
    // A configured value stays in the set.
    if (!listed.has(latest)) allowed.delete(latest)
    latest = toEntry(origin)
    allowed.add(latest)
  })
}
