import { many } from '../capability.js'

/**
 * An address by which callers outside know the main port, learned after the doors were opened. It may become another
 * one: then the one before is nobody's any more, and must not be answered for.
 */
export interface PublicAddress {
  /** Such as `https://a.example`: scheme, host and port as a browser writes them. Unset until it is known. */
  readonly origin: string | undefined
  /** Tells the origin as soon as it is known, and every other one after it. */
  watch(tell: (origin: string) => void): void
}

export const PublicAddress = many<PublicAddress>('public address', { shared: true })
