import type { PublicAddress } from 'sallyport'

/** Keeps the public address in the list of what is allowed: the current one, and no former one. */
export function allowLatest(
  allowed: Set<string>,
  address: PublicAddress,
  toEntry: (origin: string) => string,
): void {
  const listed = new Set(allowed)
  let latest = ''
  address.watch((origin) => {
    // What was configured stays in the list.
    if (!listed.has(latest)) allowed.delete(latest)
    latest = toEntry(origin)
    allowed.add(latest)
  })
}
