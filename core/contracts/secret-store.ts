import { many } from '../capability.js'

/** Keeps secrets by name. `undefined` when it has none of that name: the next in the list is asked. */
export interface SecretStore {
  readonly name: string
  get(name: string): string | undefined | Promise<string | undefined>
}

export const SecretStore = many<SecretStore>('secret store')
