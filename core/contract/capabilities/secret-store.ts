import { many } from '../capability.js'

/** Writes to a secret store, for `sallyport secret`. */
export interface SecretWriter {
  set(name: string, value: string): Promise<void>
  /** `false` when there is no secret of that name. */
  delete(name: string): Promise<boolean>
  names(): Promise<readonly string[]>
}

/**
 * Secrets by name. `get` returns `undefined` when there is none of that name: then the gateway asks the next store
 * in the list.
 */
export interface SecretStore {
  readonly name: string
  get(name: string): string | undefined | Promise<string | undefined>
  /** Calls `changed` with each new value of a secret, until the function that it returns is called. */
  readonly watch?: (name: string, changed: (value: string) => void) => () => void
  /** Only for stores that can be written through this gateway, unlike the environment or a mounted directory. */
  readonly keeping?: SecretWriter
}

export const SecretStore = many<SecretStore>('secret store')
