import { one } from '../capability.js'

/**
 * Keeps small values over restarts. A write is atomic, also when the process is killed. Values may hold secrets: a store
 * protects them from other users of the machine.
 */
export interface StateStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string): Promise<void>
  delete(key: string): Promise<void>
  keys(prefix: string): Promise<readonly string[]>
  /** Runs `work` under the lock of that key, in this process and all others. */
  locked<T>(key: string, work: () => Promise<T>): Promise<T>
}

export const StateStore = one<StateStore>('state store')
