import type { Authenticator } from '../contract/capabilities/authenticator.js'

/**
 * Whether callers need no credentials: `anonymous` decides or, where it is undefined, the authenticators of the
 * list. The first call decides, and must come after the setup of the list.
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
