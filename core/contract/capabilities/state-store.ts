import { one } from '../capability.js'

/**
 * Keeps small values over restarts. A write is there whole or not at all, also after a kill, and values may
 * hold secrets: a store keeps them from other users of the machine.
 */
export interface StateStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string): Promise<void>
  delete(key: string): Promise<void>
  keys(prefix: string): Promise<readonly string[]>
  /** Runs `work` while nobody else, in this process or another, holds the lock of that key. */
  locked<T>(key: string, work: () => Promise<T>): Promise<T>
}

export const StateStore = one<StateStore>('state store')
