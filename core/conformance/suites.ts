import { accessSinkConformance } from './access-sink.js'
import { auditSinkConformance } from './audit-sink.js'
import { authenticatorConformance } from './authenticator.js'
import { backgroundTaskConformance } from './background-task.js'
import { browserSessionConformance } from './browser-session.js'
import { catalogueStoreConformance } from './catalogue-store.js'
import { challengeConformance } from './challenge.js'
import { clientRegistrarConformance } from './client-registrar.js'
import { credentialConformance } from './credential.js'
import { guardConformance } from './guard.js'
import { headerSourceConformance } from './header-source.js'
import { healthConformance } from './health.js'
import { issuerMetadataConformance } from './issuer-metadata.js'
import { limiterConformance } from './limiter.js'
import { listenerConformance } from './listener.js'
import { managedSourceConformance } from './managed-source.js'
import { policyConformance } from './policy.js'
import { publicAddressConformance } from './public-address.js'
import { publicPathConformance } from './public-path.js'
import { publicationsConformance } from './publications.js'
import type { ConformanceSuite } from './requirement.js'
import { resourceMetadataConformance } from './resource-metadata.js'
import { secretStoreConformance } from './secret-store.js'
import { serverCatalogueConformance } from './server-catalogue.js'
import { sourceConformance } from './source.js'
import { stateStoreConformance } from './state-store.js'
import { telemetryConformance } from './telemetry.js'
import { tracerConformance } from './tracer.js'
import { tunnelConformance } from './tunnel.js'

/** One for each capability of `sallyport`, in the order in which they run: the last one ends what it tests. */
export const conformanceSuites: readonly ConformanceSuite<unknown>[] = [
  guardConformance,
  authenticatorConformance,
  browserSessionConformance,
  challengeConformance,
  limiterConformance,
  policyConformance,
  publicPathConformance,
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
