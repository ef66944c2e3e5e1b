// `sallyport`: the contract between plugins and the gateway.

// For the compiler: the properties of `request` that the gateway adds.
import './contract/fastify-types.js'

export { AccessSink, type EndedRequest } from './contract/capabilities/access-sink.js'
export {
  type AuditEvent,
  type AuditedCall,
  type AuditOutcome,
  AuditSink,
  type PublishedChange,
} from './contract/capabilities/audit-sink.js'
export {
  Authenticator,
  type Explanation,
  type Finding,
  type Rejection,
  type Verdict,
} from './contract/capabilities/authenticator.js'
export { BackgroundTask } from './contract/capabilities/background-task.js'
export { BrowserSession } from './contract/capabilities/browser-session.js'
export { CallerTokens, type HeldTokens } from './contract/capabilities/caller-tokens.js'
export {
  CatalogueStore,
  type ContentsChange,
  type SharedSource,
  type SourceStore,
  type StoredContents,
  type StoredDocument,
  type VersionKey,
} from './contract/capabilities/catalogue-store.js'
export { Challenge } from './contract/capabilities/challenge.js'
export {
  ClientRegistrar,
  type RegisteredClient,
  type RegistrationRequest,
} from './contract/capabilities/client-registrar.js'
export {
  Credential,
  type OutgoingCredential,
  type TargetRefusal,
} from './contract/capabilities/credential.js'
export { Guard } from './contract/capabilities/guard.js'
export { HeaderSource, type OutgoingHeaders } from './contract/capabilities/header-source.js'
export { Health, type HealthState } from './contract/capabilities/health.js'
export { IssuerMetadata } from './contract/capabilities/issuer-metadata.js'
export {
  type LimitAnswer,
  Limiter,
  type LimitKey,
  type LimitReached,
} from './contract/capabilities/limiter.js'
export { Listener, type ListenerTls } from './contract/capabilities/listener.js'
export {
  type AccountsOf,
  type BegunLogin,
  type Login,
  LoginProvider,
  type LoginTokens,
} from './contract/capabilities/login-provider.js'
export { ManagedSource } from './contract/capabilities/managed-source.js'
export {
  type Allowed,
  type Denial,
  type Judgement,
  type ListedSubject,
  Policy,
  type PolicyCaller,
  type PolicyQuestion,
} from './contract/capabilities/policy.js'
export { PublicAddress } from './contract/capabilities/public-address.js'
export { PublicPath } from './contract/capabilities/public-path.js'
export {
  type ChangedVersion,
  type PublicationActor,
  type PublicationEvent,
  type PublicationLimits,
  type PublicationState,
  PublicationStore,
  type Publications,
  type PublishedContents,
  type PurgedVersions,
} from './contract/capabilities/publications.js'
export { type ResourceDocument, ResourceMetadata } from './contract/capabilities/resource-metadata.js'
export {
  Revocation,
  type Revoked,
  type SignIn,
  type Standing,
} from './contract/capabilities/revocation.js'
export { SecretStore, type SecretWriter } from './contract/capabilities/secret-store.js'
export {
  type RegistryView,
  ServerCatalogue,
  type ServerPage,
  type ServerQuery,
  type ServerStatus,
  type ServerVersion,
  type ServerVersions,
} from './contract/capabilities/server-catalogue.js'
export {
  type FetchedDocuments,
  type FetchResult,
  Source,
  type SyncContext,
  type UnreadPart,
} from './contract/capabilities/source.js'
export { StateStore } from './contract/capabilities/state-store.js'
export { type Instrument, type Labels, Telemetry } from './contract/capabilities/telemetry.js'
export {
  type Trace,
  type TraceBeginning,
  type TraceEnd,
  type TracePart,
  Tracer,
} from './contract/capabilities/tracer.js'
export { type OpenTunnel, Tunnel } from './contract/capabilities/tunnel.js'
export { type Capability, type Many, many, type One, one } from './contract/capability.js'
export { BearerToken, type Credentials } from './contract/credentials.js'
export type { ErrorShape, PublicError } from './contract/error-shape.js'
export { ConfigError, GatewayError, Refusal, type RefusalReason, UpstreamError } from './contract/errors.js'
export type {
  DocumentCount,
  DocumentPosition,
  DocumentResponse,
  EntryFacts,
  Examination,
  ExaminedClient,
  ExaminedTarget,
  ExaminedTls,
  GreetOptions,
  InitializeResponse,
  Probes,
  ReachOptions,
  RefusedDocument,
  TargetLists,
} from './contract/examination.js'
export type { Fetch } from './contract/fetch.js'
export type { Addresses, Dispatch, Gateway } from './contract/gateway.js'
export type { Identity } from './contract/identity.js'
export { type Entry, isScope, type List, type Scope, type SettingPath } from './contract/list.js'
export type { McpCall, McpMessage, McpSubject, TraceContext } from './contract/message.js'
export type { Measure, Meter } from './contract/meter.js'
export {
  API_LEVEL,
  definePlugin,
  type Migration,
  type Plugin,
  type PluginDefinition,
} from './contract/plugin.js'
export type { Problem } from './contract/problem.js'
export type { Scrubber } from './contract/scrubber.js'
export type { Log } from './log/log.js'
