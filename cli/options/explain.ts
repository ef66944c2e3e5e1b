import type { OptionGroup } from './option.js'
import { sharedGroup } from './shared.js'

export const explainGroups = [
  {
    title: 'General',
    options: [
      {
        name: 'config',
        type: 'string',
        placeholder: 'FILE',
        required: true,
        help: 'A file of `sallyport registry` or `sallyport run`, in YAML or JSON',
      },
      {
        name: 'token-file',
        type: 'string',
        placeholder: 'FILE',
        help: 'File that holds the token, instead of standard input',
      },
    ],
  },
  sharedGroup,
] as const satisfies readonly OptionGroup[]
