/** A session with the target. Versions before 2026-07-28 may give it an id. */
export interface Session {
  id?: string
  version?: string
  listening?: boolean
  /** Ends what belongs to the session alone, once there is another. */
  readonly replaced: AbortController
}

export const newSession = (): Session => ({ replaced: new AbortController() })
