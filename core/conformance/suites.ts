import { authenticatorConformance, browserSessionConformance, guardConformance } from './admission.js'
import { callerTokensConformance } from './caller-tokens.js'
import { managedSourceConformance, serverCatalogueConformance, sourceConformance } from './catalogue.js'
import { catalogueStoreConformance } from './catalogue-store.js'
import { challengeConformance } from './challenge.js'
import { clientRegistrarConformance } from './client-registrar.js'
import { issuerMetadataConformance } from './issuer-metadata.js'
import {
  backgroundTaskConformance,
  healthConformance,
  listenerConformance,
  publicAddressConformance,
  publicPathConformance,
  resourceMetadataConformance,
} from './lifecycle.js'
import { limiterConformance } from './limiter.js'
import { loginProviderConformance } from './login-provider.js'
import {
  accessSinkConformance,
  auditSinkConformance,
  telemetryConformance,
  tracerConformance,
} from './observers.js'
import { credentialConformance, headerSourceConformance, tunnelConformance } from './outgoing.js'
import { policyConformance } from './policy.js'
import { publicationsConformance } from './publications.js'
import type { ConformanceSuite } from './requirement.js'
import { revocationConformance } from './revocation.js'
import { secretStoreConformance } from './secret-store.js'
import { stateStoreConformance } from './state-store.js'

/**
 * One suite for each capability of `sallyport`, in the order in which they run: the last suite ends its providers.
 */
export const conformanceSuites: readonly ConformanceSuite<unknown>[] = [
  guardConformance,
  authenticatorConformance,
  browserSessionConformance,
  revocationConformance,
  challengeConformance,
  limiterConformance,
  policyConformance,
  publicPathConformance,
  callerTokensConformance,
  credentialConformance,
  headerSourceConformance,
  secretStoreConformance,
  stateStoreConformance,
  publicationsConformance,
  managedSourceConformance,
  sourceConformance,
  serverCatalogueConformance,
  catalogueStoreConformance,
  clientRegistrarConformance,
  issuerMetadataConformance,
  loginProviderConformance,
  resourceMetadataConformance,
  tunnelConformance,
  publicAddressConformance,
  listenerConformance,
  accessSinkConformance,
  auditSinkConformance,
  telemetryConformance,
  tracerConformance,
  healthConformance,
  backgroundTaskConformance,
]
