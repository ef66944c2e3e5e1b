import { many } from '../capability.js'

/**
 * A public address of the main port that is known only after the ports were opened. It may change: the former
 * address may then belong to another party, so the gateway must refuse requests for it.
 */
export interface PublicAddress {
  /** Such as `https://a.example`: scheme, host and port as a browser writes them. Unset until it is known. */
  readonly origin: string | undefined
  /** Calls `changed` with the origin as soon as it is known, and with every later one. */
  watch(changed: (origin: string) => void): void
}

export const PublicAddress = many<PublicAddress>('public address', { shared: true })
