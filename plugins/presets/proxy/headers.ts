import type { Entry } from 'sallyport'
import type { EntryMaker } from '../settings/entry.js'
import type { SettingsOf } from '../settings/setting.js'
import type { proxyTable } from './table.js'

type Settings = SettingsOf<typeof proxyTable>

/** Headers that the target receives, with the stores of those that are secrets. */
export function addedHeaders(settings: Settings, make: EntryMaker): Entry[] {
  const { remoteForwardHeaders: fixed, remoteForwardHeadersSecret: stored } = settings
  const stores: Entry[] = [
    { use: 'secrets/environment' },
    ...(settings.secretsDir === undefined ? [] : [make.entry('secrets/directory', settings)]),
    { use: 'secrets/keyring' },
    { use: 'secrets/encrypted-file' },
  ]
  return [
    ...headerEntry('headers/static', 'remoteForwardHeaders', fixed, 'value'),
    ...(stored.length === 0 ? [] : stores),
    ...headerEntry('headers/stored', 'remoteForwardHeadersSecret', stored, 'secret'),
    ...headerEntry('headers/identity', 'remoteForwardClaims', settings.remoteForwardClaims, 'claim'),
  ]
}

function headerEntry(
  use: string,
  setting: string,
  pairs: readonly (readonly [string, string])[],
  second: string,
): Entry[] {
  if (pairs.length === 0) return []
  const headers = pairs.map(([name, value]) => ({ name, [second]: value }))
  return [{ use, with: { headers }, origin: { headers: [setting] } }]
}
