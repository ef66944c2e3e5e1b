// The public door: everything a plugin, a preset or a program that embeds the gateway may use.

// What `request` has beside Fastify's own: nothing else of what is exported leads the compiler there.
import './http/fastify-types.js'

export { listenAddress } from './address-option.js'
export { boot, pathText, planList } from './boot.js'
export type { BootContext } from './boot-context.js'
export { Booted } from './booted.js'
export { type Capability, type Many, many, type One, one } from './capability.js'
export { childEnvironment } from './child-environment.js'
export { type AuditEvent, AuditSink } from './contracts/audit-sink.js'
export {
  Authenticator,
  type Explanation,
  type Finding,
  type Rejection,
  type Verdict,
} from './contracts/authenticator.js'
export { Cache } from './contracts/cache.js'
export { Challenge } from './contracts/challenge.js'
export {
  ClientRegistrar,
  type RegisteredClient,
  type RegistrationRequest,
} from './contracts/client-registrar.js'
export { Credential, type Held, type TargetRefusal } from './contracts/credential.js'
export { Errand } from './contracts/errand.js'
export { Guard } from './contracts/guard.js'
export { HeaderSource, type OutgoingHeaders } from './contracts/header-source.js'
export { Health, type HealthState } from './contracts/health.js'
export type { Identity } from './contracts/identity.js'
export { IssuerMetadata } from './contracts/issuer-metadata.js'
export { Listener } from './contracts/listener.js'
export { PublicAddress } from './contracts/public-address.js'
export { PublicPath } from './contracts/public-path.js'
export { type ResourceDocument, ResourceMetadata } from './contracts/resource-metadata.js'
export { type SecretKeeping, SecretStore } from './contracts/secret-store.js'
export {
  type RegistryView,
  ServerCatalogue,
  type ServerPage,
  type ServerQuery,
  type ServerStatus,
  type ServerVersion,
  type ServerVersions,
} from './contracts/server-catalogue.js'
export { type Fetched, Source, type SyncContext } from './contracts/source.js'
export { StateStore } from './contracts/state-store.js'
export { type Instrument, type Labels, Telemetry } from './contracts/telemetry.js'
export { type OpenTunnel, Tunnel } from './contracts/tunnel.js'
export { Crowd } from './crowd.js'
export { isPromise, within } from './deadline.js'
export { duration, LONGEST_WAIT } from './duration.js'
export { isPublicAddress } from './egress/address.js'
export { basicAuthorization } from './egress/basic.js'
export { failureCode } from './egress/failure.js'
export { createFetcher, type Fetch, type Fetcher, type FetcherOptions } from './egress/fetcher.js'
export { type ProxyChoice, proxyChoice } from './egress/proxy-choice.js'
export { ProxyTunnels } from './egress/proxy-tunnels.js'
export type { Resolve, ResolvedAddress } from './egress/resolve.js'
export { insecureHttpAllowed, isInsecure } from './egress/url-rules.js'
export { ConfigError, GatewayError, Refusal, type RefusalReason, UpstreamError } from './errors.js'
export { ExpiringMap } from './expiring-map.js'
export { DirectoryWatch } from './files/directory-watch.js'
export { fileFailure } from './files/file-failure.js'
export { WatchedFile, type WatchedFileOptions } from './files/watched-file.js'
export { warnIfWorldReadable } from './files/world-readable.js'
export type { Addresses, Dispatch, Gateway } from './gateway.js'
export { headerName, isHeaderValue } from './header-option.js'
export type { ErrorShape, PublicError } from './http/answers.js'
export { BearerToken, type Credentials, credentialsOf, digestOf } from './http/credentials.js'
export { lastsWhileListened } from './http/in-flight.js'
export { timesSent } from './http/raw-headers.js'
export { isUpgrade } from './http/upgrades.js'
export { isJsonObject, type JsonObject, jsonObject } from './json-object.js'
export { type Entry, isScope, type List, type Scope, type SettingPath } from './list.js'
export { type Catalogue, type Loaded, Loader } from './load.js'
export { Scrubber } from './log/scrubber.js'
export { createLog, type Log, type LogOptions } from './log.js'
export type { Measure, Meter } from './meter.js'
export { type JsonSchema, jsonSchemaOf, knownKeys } from './options.js'
export { isPlannedScope, type Locate, type PlannedEntry, type PlannedScope } from './plan.js'
export { API_LEVEL, definePlugin, type Plugin, type PluginDefinition } from './plugin.js'
export { nearest, type Problem, problemLine } from './problem.js'
export { redact } from './redact.js'
export { Secret, type SecretContext, type SecretPlaces, secretFrom, secretText } from './secret.js'
export { type Running, type ServeContext, serve } from './serve.js'
