import type { OptionGroup } from './option.js'
import { sharedGroup } from './shared.js'

/** The flags of `sallyport secret`. */
export const secretsGroups = [
  {
    title: 'General',
    options: [
      {
        name: 'store',
        type: 'choice',
        choices: ['auto', 'keyring', 'file'],
        placeholder: 'STORE',
        default: 'auto',
        help: "Where secrets are kept: the operating system's keyring, or an encrypted file where there is none",
      },
      {
        name: 'passphrase-file',
        type: 'string',
        placeholder: 'FILE',
        help: 'File that holds the passphrase of the encrypted file; else SALLYPORT_SECRETS_PASSPHRASE, else it is asked for',
      },
    ],
  },
  sharedGroup,
] as const satisfies readonly OptionGroup[]
