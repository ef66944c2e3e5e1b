import type { Entry, List } from 'sallyport'

/** The secret stores of `sallyport secret`, by the name that the user chooses. */
export const keyring: Entry = { use: 'secrets/keyring' }

export interface EncryptedFileSettings {
  readonly passphrase?: string | undefined
  readonly passphraseFile?: string | undefined
}

export const encryptedFile = ({ passphrase, passphraseFile }: EncryptedFileSettings): Entry => ({
  use: 'secrets/encrypted-file',
  with: { ...(passphrase !== undefined && { passphrase }), ...(passphraseFile && { passphraseFile }) },
})

/** The state store of a proxy's logins, for `sallyport auth`. */
export const loginStore = (options: Readonly<Record<string, unknown>>): List => [
  keyring,
  { use: 'state/sqlite', with: options },
]

/** The other entries that a single plugin may need for its setup, for `sallyport plugin verify`. */
export const stateInMemory: List = [{ use: 'state/memory' }]
export const issuerDiscovery: List = [{ use: 'discovery/issuer' }]
