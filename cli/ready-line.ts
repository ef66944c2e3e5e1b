import type { Addresses } from 'sallyport'

/** The end of a ready line: where health and metrics are, if there is a port for them. */
export const internalPart = ({ internal }: Addresses): string =>
  internal === undefined ? '' : ` (health and metrics on ${internal})`
