import type { Entry } from 'sallyport'
import { type EntryMaker, spanOf } from '../settings/entry.js'
import type { SettingsOf } from '../settings/setting.js'
import type { proxyTable } from './table.js'

type Settings = SettingsOf<typeof proxyTable>

const STARTERS = [
  'remoteAuthClientId',
  'remoteAuthIssuer',
  'remoteAuthAuthorizeUrl',
  'remoteAuthTokenUrl',
] as const

/** The setting that requires a login, now or when the target requires one. */
export const loginStarter = (settings: Settings) =>
  settings.remoteAuth ? 'remoteAuth' : STARTERS.find((setting) => settings[setting] !== undefined)

/** A client ID that is the URL of the client's own description. */
export const isMetadataDocument = ({ remoteAuthClientId: id, remoteAuthTokenUrl }: Settings): boolean =>
  id !== undefined && /^https:\/\//i.test(id) && remoteAuthTokenUrl === undefined

export interface LoginManner {
  readonly login?: 'start' | 'demand'
  /** Whether only one person can reach the gateway. */
  readonly tellsCallers?: boolean
}

/** The entries of the state store, the registrars and the login; none when the settings require no login. */
export const oauthEntries = (settings: Settings, make: EntryMaker, manner: LoginManner = {}): Entry[] =>
  loginStarter(settings) === undefined
    ? []
    : [...stores(settings), ...registrars(settings, make), login(settings, make, manner)]

function stores({ remoteAuthNoStore, remoteAuthNoKeyring, remoteForwardHeadersSecret }: Settings): Entry[] {
  if (remoteAuthNoStore) return [{ use: 'state/memory' }]
  // Headers from stored secrets add the keyring in its order among the other stores.
  const isThere = remoteForwardHeadersSecret.length > 0
  // Needed also when new values are not encrypted: older values must stay readable.
  const keyring = isThere ? [] : [{ use: 'secrets/keyring' }]
  return [...keyring, { use: 'state/sqlite', ...(remoteAuthNoKeyring && { with: { keptKey: false } }) }]
}

function registrars(settings: Settings, make: EntryMaker): Entry[] {
  const { remoteAuthClientId: url, remoteAuthIssuer: issuer } = settings
  const byItself = [{ use: 'registrar/remembered' }, { use: 'registrar/dynamic' }]
  if (url === undefined) return byItself
  if (isMetadataDocument(settings)) {
    return [
      { use: 'registrar/metadata-document', with: { url }, origin: { url: ['remoteAuthClientId'] } },
      ...byItself,
    ]
  }
  const place = settings.remoteAuthTokenUrl ?? settings.targetUri
  return [make.entry('registrar/given', settings, { with: { issuer, place } })]
}

function login(settings: Settings, make: EntryMaker, manner: LoginManner): Entry {
  const { remoteAuthClientId, remoteAuthTimeout } = settings
  return make.entry('credential/oauth', settings, {
    with: {
      target: settings.targetUri,
      login: manner.login ?? (settings.remoteAuth ? 'start' : 'demand'),
      ...(manner.tellsCallers === true && { tellsCallers: true }),
      grant: settings.remoteAuthDevice ? 'device_code' : settings.remoteAuthGrant,
      // A client that was registered by hand has only one redirect URI.
      callbackPortFixed: remoteAuthClientId !== undefined,
      openBrowser: !settings.remoteAuthSkipBrowser,
      timeout: spanOf(remoteAuthTimeout),
      keptAs: remoteAuthClientId,
    },
    from: { target: 'targetUri' },
  })
}
