// What `sallyport` exported in 0.1 and keeps for one more release.

export {
  /** @deprecated now `BackgroundTask` */
  BackgroundTask as Errand,
} from './contract/capabilities/background-task.js'
export type {
  /** @deprecated now `OutgoingCredential` */
  OutgoingCredential as Held,
} from './contract/capabilities/credential.js'
export type {
  /** @deprecated now `SecretWriter` */
  SecretWriter as SecretKeeping,
} from './contract/capabilities/secret-store.js'
export type {
  /** @deprecated now `FetchResult` */
  FetchResult as Fetched,
} from './contract/capabilities/source.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  digestOf,
} from './contract/credentials.js'
export type {
  /** @deprecated now `InitializeResponse` */
  InitializeResponse as Greeting,
} from './contract/examination.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  nearest,
  /** @deprecated import it from `sallyport/toolkit` */
  problemLine,
} from './contract/problem.js'
export {
  /** @deprecated use a `Set` */
  Crowd,
  /** @deprecated now `excludeFromDrain` of `sallyport/toolkit` */
  lastsWhileListened,
  /** @deprecated now `SecretLocations` of `sallyport/toolkit` */
  type SecretPlaces,
} from './deprecated-toolkit.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  failureCode,
} from './egress/failure.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  createFetcher,
  /** @deprecated import it from `sallyport/toolkit` */
  type Fetcher,
  /** @deprecated import it from `sallyport/toolkit` */
  type FetcherOptions,
} from './egress/fetcher.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  type ProxyChoice,
  /** @deprecated import it from `sallyport/toolkit` */
  proxyChoice,
} from './egress/proxy-choice.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  ProxyTunnels,
} from './egress/proxy-tunnels.js'
export type {
  /** @deprecated import it from `sallyport/toolkit` */
  Resolve,
  /** @deprecated import it from `sallyport/toolkit` */
  ResolvedAddress,
} from './egress/resolve.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  insecureHttpAllowed,
  /** @deprecated import it from `sallyport/toolkit` */
  isInsecure,
} from './egress/url-rules.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  credentialsOf,
} from './http/credentials.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  timesSent,
} from './http/raw-headers.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  isUpgrade,
} from './http/upgrades.js'
export {
  /** @deprecated import it from `sallyport/embed` */
  boot,
  /** @deprecated import it from `sallyport/embed` */
  planList,
} from './kernel/boot.js'
export type {
  /** @deprecated import it from `sallyport/embed` */
  BootContext,
} from './kernel/boot-context.js'
export {
  /** @deprecated now `GatewayInstance` of `sallyport/embed` */
  GatewayInstance as Booted,
} from './kernel/instance.js'
export {
  /** @deprecated import it from `sallyport/embed` */
  type Catalogue,
  /** @deprecated import it from `sallyport/embed` */
  type Loaded,
  /** @deprecated import it from `sallyport/embed` */
  Loader,
} from './kernel/load.js'
export {
  /** @deprecated import it from `sallyport/embed` */
  isPlannedScope,
  /** @deprecated import it from `sallyport/embed` */
  type Locate,
  /** @deprecated import it from `sallyport/embed` */
  type PlannedEntry,
  /** @deprecated import it from `sallyport/embed` */
  type PlannedScope,
} from './kernel/plan.js'
export type {
  /** @deprecated now `GatewayServer` of `sallyport/embed` */
  GatewayServer as Running,
} from './kernel/server.js'
export {
  /** @deprecated import it from `sallyport/embed` */
  type ServeContext,
  /** @deprecated import it from `sallyport/embed` */
  serve,
} from './kernel/server.js'
export {
  /** @deprecated import it from `sallyport/embed` */
  type JsonSchema,
  /** @deprecated import it from `sallyport/embed` */
  jsonSchemaOf,
} from './kernel/validate-options.js'
export {
  /** @deprecated import it from `sallyport/embed` */
  createLog,
  /** @deprecated import it from `sallyport/embed` */
  type LogOptions,
} from './log/log.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  isPublicAddress,
} from './toolkit/address.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  basicAuthorization,
} from './toolkit/basic-authorization.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  childEnvironment,
} from './toolkit/child-environment.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  isPromise,
  /** @deprecated import it from `sallyport/toolkit` */
  within,
} from './toolkit/deadline.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  duration,
  /** @deprecated import it from `sallyport/toolkit` */
  LONGEST_WAIT,
} from './toolkit/duration.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  ExpiringMap,
} from './toolkit/expiring-map.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  DirectoryWatch,
} from './toolkit/files/directory-watch.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  fileFailure,
} from './toolkit/files/file-failure.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  WatchedFile,
  /** @deprecated import it from `sallyport/toolkit` */
  type WatchedFileOptions,
} from './toolkit/files/watched-file.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  warnIfWorldReadable,
} from './toolkit/files/world-readable.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  headerName,
  /** @deprecated import it from `sallyport/toolkit` */
  isHeaderValue,
} from './toolkit/header.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  isJsonObject,
  /** @deprecated import it from `sallyport/toolkit` */
  type JsonObject,
  /** @deprecated import it from `sallyport/toolkit` */
  jsonObject,
} from './toolkit/json-object.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  listenAddress,
} from './toolkit/listen-address.js'
export {
  /** @deprecated import it from `sallyport/embed` */
  pathText,
} from './toolkit/path-text.js'
export {
  /** @deprecated import it from `sallyport/embed` */
  redact,
} from './toolkit/redact.js'
export {
  /** @deprecated import it from `sallyport/toolkit` */
  Secret,
  /** @deprecated import it from `sallyport/toolkit` */
  type SecretContext,
  /** @deprecated import it from `sallyport/toolkit` */
  secretFrom,
  /** @deprecated import it from `sallyport/toolkit` */
  secretText,
} from './toolkit/secret.js'
