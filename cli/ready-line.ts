import type { Addresses } from 'sallyport'

/** The end of a ready line: where health and metrics are, if there is a port for them, and what `more` says. */
export function internalPart({ internal }: Addresses, more?: string): string {
  const parts = [more, internal && `health and metrics on ${internal}`].filter((part) => part !== undefined)
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`
}
