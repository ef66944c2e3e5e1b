import type { PublicAddress } from 'sallyport'

/** Keeps what a public address allows in the list: the address as it is now, and none that it was. */
export function allowLatest(
  allowed: Set<string>,
  address: PublicAddress,
  allowedBy: (origin: string) => string,
): void {
  const listed = new Set(allowed)
  let latest = ''
  address.watch((origin) => {
    // What somebody wrote into the list stays in it.
    if (!listed.has(latest)) allowed.delete(latest)
    latest = allowedBy(origin)
    allowed.add(latest)
  })
}
