import { one } from '../capability.js'

/** Values with a time to live, in a bounded room. What it forgets early is asked for again, so it may. */
export interface Cache {
  get(key: string): string | undefined | Promise<string | undefined>
  set(key: string, value: string, ttlSeconds: number): void | Promise<void>
  delete(key: string): void | Promise<void>
}

export const Cache = one<Cache>('cache')
