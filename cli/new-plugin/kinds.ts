import type { PluginKind } from '../options/plugin.js'
import type { Kind } from './kind.js'
import { audit } from './kinds/audit.js'
import { authenticator } from './kinds/authenticator.js'
import { credential } from './kinds/credential.js'
import { guard } from './kinds/guard.js'
import { headers } from './kinds/headers.js'
import { health } from './kinds/health.js'
import { registrar } from './kinds/registrar.js'
import { secrets } from './kinds/secrets.js'
import { source } from './kinds/source.js'
import { stateStore } from './kinds/state-store.js'
import { telemetry } from './kinds/telemetry.js'

export const kinds: Readonly<Record<PluginKind, Kind>> = {
  guard,
  authenticator,
  credential,
  headers,
  secrets,
  source,
  'state-store': stateStore,
  registrar,
  audit,
  telemetry,
  health,
}
