import type { OptionGroup } from './option.js'
import { printPlugins, sharedGroup } from './shared.js'
import { workers } from './workers.js'

export const registryGroups = [
  {
    title: 'General',
    options: [
      {
        name: 'config',
        type: 'string',
        placeholder: 'FILE',
        help: 'Configuration file, in YAML or JSON',
      },
      {
        name: 'address',
        type: 'address',
        placeholder: 'HOST:PORT',
        default: '127.0.0.1:8080',
        help: 'Where the registry API listens; `address` in the file',
      },
      {
        name: 'internal-address',
        type: 'address',
        placeholder: 'HOST:PORT',
        default: '127.0.0.1:8081',
        help: 'Where /health, /readiness, /version and /metrics are served; `internalAddress` in the file',
      },
      {
        name: 'auth-mode',
        type: 'choice',
        choices: ['oauth', 'anonymous'],
        placeholder: 'MODE',
        default: 'oauth',
        help: 'Who may read: holders of a valid token, or anybody; `auth.mode` in the file',
      },
      workers,
      printPlugins,
    ],
  },
  sharedGroup,
] as const satisfies readonly OptionGroup[]
