import { mainPort } from '../proxy/table.js'
import type { SettingGroup } from '../settings/setting.js'
import { tlsGroup } from '../tls.js'

/** The settings of the registry that are flags too; its file has further ones, which are lists and sections. */
// biome-ignore format: a setting is a line
export const registryTable = [
  {
    title: 'General',
    options: [
      { name: 'address', type: 'address', default: '127.0.0.1:8080', help: 'Where the registry API listens' },
      { name: 'internal-address', type: 'address', default: '127.0.0.1:8081', help: 'Where /health, /readiness, /version, /metrics and /sync are served' },
      { name: 'auth-mode', path: ['auth', 'mode'], type: 'choice', choices: ['oauth', 'anonymous'], default: 'oauth', help: 'Who may read: holders of a valid token, or anybody; `auth.mode` in the file' },
      ...mainPort,
    ],
  },
  tlsGroup,
] as const satisfies readonly SettingGroup[]
