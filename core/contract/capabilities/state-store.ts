import { one } from '../capability.js'

/**
 * Keeps small values over restarts. A write is atomic, also when the process is killed. Values may hold secrets: a
 * store protects them from other users of the machine.
 */
export interface StateStore {
  get(key: string): Promise<string | undefined>
  /**
   * Replaces the value and its expiry. After `expiresAt`, in milliseconds since the epoch, no call finds the value,
   * and the store may delete it. Without `expiresAt` it never expires.
   */
  set(key: string, value: string, options?: { readonly expiresAt?: number | undefined }): Promise<void>
  /**
   * Reads and deletes in one step: of all callers, in this process and all others, exactly one gets the value.
   * Throws when it cannot be deleted where all processes see it.
   */
  take(key: string): Promise<string | undefined>
  delete(key: string): Promise<void>
  keys(prefix: string): Promise<readonly string[]>
  /** Runs `work` under the lock of that key, in this process and all others. */
  locked<T>(key: string, work: () => Promise<T>): Promise<T>
}

export const StateStore = one<StateStore>('state store')
