import type { SettingGroup } from '../settings/setting.js'

// biome-ignore format: a setting is a line
export const quickstartTable = [
  {
    title: 'General',
    options: [
      { name: 'port', type: 'port', help: 'Port of the gateway on 127.0.0.1; by default 8080, or a free one when that is taken' },
    ],
  },
] as const satisfies readonly SettingGroup[]
