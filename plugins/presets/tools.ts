import type { Entry, List } from 'sallyport'

/** Where `sallyport secret` keeps secrets, by the name of its choice. */
export const keyring: Entry = { use: 'secrets/keyring' }

export interface EncryptedFileSettings {
  readonly passphrase?: string | undefined
  readonly passphraseFile?: string | undefined
}

export const encryptedFile = ({ passphrase, passphraseFile }: EncryptedFileSettings): Entry => ({
  use: 'secrets/encrypted-file',
  with: { ...(passphrase !== undefined && { passphrase }), ...(passphraseFile && { passphraseFile }) },
})

/** Where a proxy keeps its logins, for `sallyport auth`. */
export const loginStore = (options: Readonly<Record<string, unknown>>): List => [
  keyring,
  { use: 'state/sqlite', with: options },
]

/** What a plugin may need of others to be set up by itself, for `sallyport plugin verify`. */
export const stateInMemory: List = [{ use: 'state/memory' }]
export const issuerDiscovery: List = [{ use: 'discovery/issuer' }]
