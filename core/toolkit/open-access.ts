import type { Authenticator } from '../contract/capabilities/authenticator.js'

/**
 * Whether callers need no credentials: as `anonymous` says, by default as the authenticators of the list say. Decided by
 * the first call, which must come after the setup of the list.
 */
export function openAccess(
  authenticators: () => readonly Authenticator[],
  anonymous: boolean | undefined,
): () => boolean {
  let isOpen = anonymous
  return () => {
    isOpen ??= authenticators().some(({ open }) => open === true)
    return isOpen
  }
}
