import { many } from '../capability.js'

/** What `sallyport secret` does to a store that can be written. */
export interface SecretKeeping {
  set(name: string, value: string): Promise<void>
  /** `false` when there was none of that name. */
  delete(name: string): Promise<boolean>
  names(): Promise<readonly string[]>
}

/** Keeps secrets by name. `undefined` when it has none of that name: the next in the list is asked. */
export interface SecretStore {
  readonly name: string
  get(name: string): string | undefined | Promise<string | undefined>
  /** Tells each new value of a secret that it has, until the function that it returns is called. */
  readonly watch?: (name: string, changed: (value: string) => void) => () => void
  /** Only what the operator may fill through this gateway has it; an environment or a mounted directory has not. */
  readonly keeping?: SecretKeeping
}

export const SecretStore = many<SecretStore>('secret store')
