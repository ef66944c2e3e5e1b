// `sallyport/toolkit`: tools of the built-in plugins, for other plugins too.

export { digestOf } from './contract/credentials.js'
export { nearest, problemLine } from './contract/problem.js'
export { openCertificates } from './egress/certificates.js'
export { failureCode } from './egress/failure.js'
export { createFetcher, type Fetcher, type FetcherOptions } from './egress/fetcher.js'
export { type ProxyChoice, proxyChoice } from './egress/proxy-choice.js'
export { ProxyTunnels } from './egress/proxy-tunnels.js'
export { localNetworkLookup, type Resolve, type ResolvedAddress } from './egress/resolve.js'
export { insecureHttpAllowed, isInsecure, isPrivateUrl, PLAIN_HTTP_RULE } from './egress/url-rules.js'
export { bearerCredentials, credentialsOf } from './gate/credentials.js'
export { openProviders, requestKeyOf } from './gate/limit.js'
export {
  askForBody,
  type BodyReader,
  bodyIncomplete,
  bodyKeptBy,
  bodyRead,
  bodyReplaced,
  bodyTooLarge,
  bodyTooSlow,
  forgetBody,
  readBodyBy,
} from './http/body.js'
export { clientThumbprint } from './http/client-certificate.js'
export {
  allValues,
  connectionOptions,
  type FlatHeaders,
  FRAMING,
  firstValue,
  HOP_BY_HOP,
  joinedValues,
  pairs,
  responseHeaders,
} from './http/flat-headers.js'
export { excludeFromDrain } from './http/in-flight.js'
export { takeSocket } from './http/pending-upgrade.js'
export { timesSent } from './http/raw-headers.js'
export { isUpgrade } from './http/upgrades.js'
export { LogThrottle } from './log/log-throttle.js'
export { jsonRpcErrors } from './mcp/error-shape.js'
export { EventStreamParser, type ParsedEvent } from './mcp/event-stream.js'
export { EventSplitter, StreamEvent, type StreamPart } from './mcp/events.js'
export { type McpHeaders, mcpHeaders } from './mcp/headers.js'
export { JsonReader, textOf } from './mcp/json.js'
export { messageRead } from './mcp/message.js'
export { idTextIn, needsText, replyId } from './mcp/message-id.js'
export { MCP_LISTS, MCP_METHODS, type McpList, METHOD_FOR, SUBSCRIPTION } from './mcp/methods.js'
export {
  openPassage,
  type Passage,
  type PassageOptions,
  type PassedResponse,
  type ResponseOptions,
} from './mcp/passage.js'
export { isEventStream, type ResponseHead, type ResponseSink, type ResponseSource } from './mcp/response.js'
export { subjectName } from './mcp/subject-name.js'
export { fieldsOf, routeOf } from './observe/logged-fields.js'
export { observationOf, timed } from './observe/observation.js'
export { MAX_OBSERVED_BODY } from './observe/observed-body.js'
export type { ObservedRequest } from './observe/observed-request.js'
export { isInLocalNetwork, isLoopbackHost, isPublicAddress } from './toolkit/address.js'
export { AddressRanges, addressRange, normalizedAddress } from './toolkit/address-ranges.js'
export { basicAuthorization } from './toolkit/basic-authorization.js'
export { ByteBudget } from './toolkit/byte-budget.js'
export { byteSize } from './toolkit/byte-size.js'
export {
  certificatesIn,
  keyPairFaults,
  namesOf,
  outOfDate,
} from './toolkit/certificates.js'
export { childEnvironment } from './toolkit/child-environment.js'
export {
  type ClaimCondition,
  type ClaimValue,
  claimCondition,
  matchesClaims,
  unmatchedClaims,
} from './toolkit/claim-condition.js'
export { networkOf } from './toolkit/client-network.js'
export { ConcurrencyLimit } from './toolkit/concurrency-limit.js'
export { isPromise, waitAtMost, within } from './toolkit/deadline.js'
export { duration, LONGEST_WAIT } from './toolkit/duration.js'
export { examineTlsFiles } from './toolkit/examine-tls-files.js'
export { ExpiringMap } from './toolkit/expiring-map.js'
export { DirectoryWatch } from './toolkit/files/directory-watch.js'
export { fileFailure } from './toolkit/files/file-failure.js'
export { openRegularFile, readRegularFile } from './toolkit/files/regular-file.js'
export { TlsFiles } from './toolkit/files/tls-files.js'
export { userFolder } from './toolkit/files/user-folder.js'
export { WatchedFile, type WatchedFileOptions } from './toolkit/files/watched-file.js'
export { warnIfWorldReadable } from './toolkit/files/world-readable.js'
export { folded } from './toolkit/folded.js'
export { plainCode, plainText, plainWords } from './toolkit/foreign-text.js'
export { broadest, covers, type Glob, globOf, matches as matchesGlob, overlap } from './toolkit/glob.js'
export { headerName, isHeaderValue, secretHeaders } from './toolkit/header.js'
export { formatHostPort, type HostPort, parseHostPort, portOf } from './toolkit/host-port.js'
export { type Html, type HtmlValue, html } from './toolkit/html.js'
export { isJsonObject, type JsonObject, jsonObject } from './toolkit/json-object.js'
export { LineSplitter, TOO_LONG } from './toolkit/line-splitter.js'
export { listenAddress } from './toolkit/listen-address.js'
export { loopbackHosts } from './toolkit/loopback-hosts.js'
export { messageOf } from './toolkit/message-of.js'
export { OFFICIAL, PUBLISHER } from './toolkit/metadata-keys.js'
export { openAccess } from './toolkit/open-access.js'
export { isOwnCookie, ownCookie } from './toolkit/own-cookies.js'
export { pathsFrom } from './toolkit/paths-from.js'
export { type ProcessGroupOptions, signalGroup, spawnProcessGroup } from './toolkit/process-group.js'
export { registeredClient } from './toolkit/registered-client.js'
export { scopeToken } from './toolkit/scope.js'
export { Secret, type SecretContext, type SecretLocations, secretFrom, secretText } from './toolkit/secret.js'
export { Sequence } from './toolkit/sequence.js'
export { issuerUrl, targetUrl, webUrl } from './toolkit/web-url.js'
export { tokensAreTooDeep, valueIsTooDeep } from './toolkit/yaml/nesting.js'
export { readYaml, type YamlRead, type YamlResult } from './toolkit/yaml/reader.js'
