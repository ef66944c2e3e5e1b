import { errorsInSource } from './source.js'

/** Where a code appears, and what to do about it. A client gets it in lower case, the log has it as it stands here. */
export interface ErrorCode {
  readonly where: 'response' | 'log' | 'start'
  readonly advice: string
  /** Statuses of the responses with this code, where the source does not write them beside it. */
  readonly statuses: readonly number[]
}

const response = (advice: string, ...statuses: number[]): ErrorCode => ({
  where: 'response',
  advice,
  statuses,
})
const log = (advice: string): ErrorCode => ({ where: 'log', advice, statuses: [] })
const start = (advice: string): ErrorCode => ({ where: 'start', advice, statuses: [] })

/** Every code that the program gives to an error of its own, with advice for its reader. */
export const errorCodes: Readonly<Record<string, ErrorCode>> = {
  // The caller
  UNAUTHORIZED: response('send `Authorization: Bearer TOKEN`; the challenge says where to get one'),
  INVALID_TOKEN: response('get a new token; the log says why, `sallyport explain` shows every check'),
  INVALID_REQUEST: response('send one `Authorization` header: `Bearer`, one space, the token'),
  INSUFFICIENT_SCOPE: response('ask for a token with the scopes that the challenge names'),
  ORIGIN_FORBIDDEN: response(
    'list the origin of the page, which the log names: `allowedOrigins`, `--allowed-origins`',
    403,
  ),
  HOST_FORBIDDEN: response(
    'call the gateway by a name that it knows, or list the name in the log: `allowedHosts`, `--resource-url`',
  ),
  HOST_REPEATED: response('send one `Host` header'),
  HOST_INVALID: response(
    'send the name or address of the gateway as `Host`, with its port, and nothing else',
  ),
  METHOD_NOT_ALLOWED: response('use a method that the header `Allow` names'),
  BODY_TOO_LARGE: response(
    'send less, or raise `--max-body`: where a policy or a limit reads bodies, the limit is 1 MiB by default and 16 MiB at most; for a document raise `maxDocumentBytes` of `registry/catalogue`',
  ),
  BODY_TOO_SLOW: response(
    'send the body faster: while `keptBodies` is full, a pause of a second is too long',
  ),
  TRANSFER_CODING: response('send the body chunked or with its length'),
  REQUEST_UNSUPPORTED: response(
    'use `forward/http`: HTTP/2 does not carry this request, such as a WebSocket',
  ),
  TARGET_FORM: response('request a path'),
  PATH_OUTSIDE_TARGET: response("stay below the target's path: `..` must not lead out of it"),
  QUERY_FIXED: response(
    'leave out the parameters in the query of `--target-uri`: a request cannot change them',
  ),
  STARTING: response('try again in a second'),
  POLICY_DENIED: response(
    'ask the operator; the log names the rule, and `sallyport explain` shows why it applies',
  ),
  POLICY_CANNOT_JUDGE: response('send a POST with a JSON-RPC message: policies let nothing else through'),
  POLICY_UNAVAILABLE: response('try again; the log says why a policy failed'),
  BODY_UNEXPECTED: response('send GET, HEAD, OPTIONS and DELETE without a body'),
  MESSAGE_CONTENT_TYPE: response('send one `Content-Type: application/json`'),
  MESSAGE_ENCODING: response('send UTF-8 without byte order mark and without `Content-Encoding`'),
  MESSAGE_NOT_JSON: response('send a JSON-RPC message', 400),
  MESSAGE_MALFORMED: response('send a JSON-RPC request, notification or response, or a batch of them', 400),
  MESSAGE_AMBIGUOUS: response(
    'send each member of the message once; spell members and the method as MCP does',
  ),
  MESSAGE_TOO_LARGE: response(
    'send less at once: 100 messages, 1,000 names, 64 KiB of names, 1,000 levels, 100,000 members',
  ),
  MESSAGE_UNNAMED: response('name what is called: `params.name`, `uri` or `ref`, as a text', 400),
  MESSAGE_HEADER_MISMATCH: response(
    'send `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` once, each equal to the body',
  ),
  TOO_MANY_REQUESTS: response(
    'wait for the seconds in `Retry-After`; the limits are those of `limit/requests` in the list',
  ),
  LIMIT_UNAVAILABLE: response('try again; the log says why the limiter failed'),
  AUTHENTICATION_BUSY: response(
    'try again in a second; the gateway checks at most 64 unknown tokens of an address at once',
  ),
  AUTHENTICATION_UNAVAILABLE: response(
    'try again; the gateway cannot reach the identity provider, see `sallyport_key_fetches_total`',
    401,
    503,
  ),
  SIGN_IN_UNKNOWN: response(
    'sign in again, at the host of `resourceUrl`; replicas need the same `cookieKeyFile`, of `issuer/broker` the same `keyFile`',
  ),
  SIGN_IN_UNAVAILABLE: response('try again; the gateway cannot reach the issuer where people sign in'),
  SIGN_IN_REFUSED: response('sign in again: the identity provider refused the token that it had just issued'),
  CONSENT_FORBIDDEN: response('sign in again in the client: the form is of another browser or sign-in'),
  INVALID_CLIENT_METADATA: response('register with a JSON object as RFC 7591 describes it'),
  INVALID_REDIRECT_URI: response(
    'let the operator allow the host: `clients.redirectHosts` of `issuer/broker`, or `clients.given`',
  ),
  REGISTRATION_CLOSED: response('ask the operator for a client ID: `clients.given` of `issuer/broker`'),
  SIGN_OUT_FORBIDDEN: response('sign out with the button of a page'),
  REGISTRY_NOT_LOADED: response('try again; the registry has not read its sources yet, see `/readiness`'),
  SYNC_FAILED: response('read the reason in the response: reading the source failed', 502, 503, 504),
  PUBLICATIONS_NOT_TAKEN: response('publish to a registry that lists a source with `managed: {}`'),
  PUBLISH_FORBIDDEN: response(
    'use a name that the response lists, or ask the operator for a rule in `publishers`',
  ),
  TOO_MANY_PUBLICATIONS: response('wait for the seconds in `Retry-After`; the limit is `publishRate`', 429),
  BODY_NOT_JSON: response('send one JSON value, in UTF-8'),
  BODY_INVALID: response('correct what `issues` lists; `POST /validate` lists the same without publishing'),
  NAME_TAKEN: response('use another name: an earlier source of the registry has this one'),
  STORED_NOT_SERVED: response(
    'request the version in some seconds: it is stored; publishing it again is a 409',
  ),
  LOGIN_MALFORMED: response('send `{"oidc_token": TOKEN}`'),
  LOGIN_UNKNOWN: response('`mcp-publisher login github-oidc`, or send a token of the issuer directly'),

  // Publications
  VERSION_EXISTS: response(
    'publish another version: a published version never changes, even when it is deleted',
  ),
  TOO_MANY_VERSIONS: response('ask the operator: this server has the most versions that it may have'),
  SOURCE_FULL: response('purge old versions, or ask the operator for more `maxBytes`'),
  PUBLISHER_FULL: response('purge old versions of yours, or ask the operator for more `maxBytesEach`'),
  PURGE_UNSUPPORTED: response('ask the operator: the store of this registry cannot delete versions for good'),
  VERSION_UNKNOWN: response('correct the name or the version: it is not published'),
  STORE_UNWRITABLE: response('try again; the message says why the registry cannot store it'),
  PUBLICATION_UNCERTAIN: response('request the version before you publish it again: it may be stored'),
  SOURCE_NOT_OPEN: start('list `source/managed` before `registry/catalogue`'),

  // The target
  TARGET_REFUSED: response('start the target, or correct `--target-uri`', 502),
  TARGET_DNS: response('correct the host of `--target-uri`, or the name server', 502),
  TARGET_TLS: response(
    'check the certificate of the target; `NODE_EXTRA_CA_CERTS` adds an authority; with TLS 1.2 the target may want a client certificate',
    502,
  ),
  TARGET_CLIENT_CERTIFICATE: response(
    'give the client certificate that the target wants: `targetClientCert` and `targetClientKey`',
    502,
  ),
  BODY_INCOMPLETE: response('send the whole body: the connection ended before its end'),
  BODIES_FULL: response(
    'try again, send less at once, or raise `keptBodies` of `forward/http`: one caller may use an eighth of it',
  ),
  TARGET_PLAIN_HTTP: response(
    'use an https URL for the target; `--allow-plain-http` allows credentials in plain text',
  ),
  TARGET_RESET: response("read the target's log: the target closed the connection half way", 502),
  TARGET_UNREACHABLE: response('check routes and firewalls on the way to the target', 502),
  TARGET_MALFORMED: response(
    'check the scheme of `--target-uri`: the target does not speak plain HTTP there',
    502,
  ),
  TARGET_TOO_LARGE: response('make the headers of the target smaller', 502),
  TARGET_PROXY: response('read in the log why the proxy of HTTPS_PROXY opens no tunnel to the target', 502),
  TARGET_PROXY_TIMEOUT: response(
    'check HTTPS_PROXY, and firewalls on the way: that proxy does not respond',
    504,
  ),
  TARGET_TIMEOUT: response('raise `--target-timeout`, or find out why the target is slow'),
  TARGET_FAILED: response('read the cause in the log'),
  TARGET_REDIRECT: response(
    'use the address that the target redirects to: the gateway sends no credential after a redirect',
  ),
  BODY_NOT_REPEATABLE: response('send the request again: the gateway did not keep its body for a second try'),

  RESPONSE_ENCODED: response(
    'make the target honour `Accept-Encoding: identity`: policies cannot filter its lists',
  ),
  RESPONSE_PARTIAL: response('make the target send whole responses: policies cannot filter a part of a list'),
  RESPONSE_MALFORMED: response('make the target send valid JSON in UTF-8, or events, under one content type'),
  RESPONSE_TOO_LARGE: response(
    'make the target send lists in pages, and large results of tools as plain JSON: with policies an event has at most 16 MiB',
  ),
  CALLER_TOO_SLOW: log('make the client read responses as they arrive: the gateway cut one off'),
  RESPONSES_FULL: response('try again; policies filter at most 64 MiB of responses at once'),

  // The credential for the target
  CREDENTIAL_NOT_READY: response('sign in: the URL is in the log'),
  CREDENTIAL_FAILED: response('read the cause in the log'),
  HEADERS_FAILED: response('read the cause in the log: a plugin that adds headers is broken'),
  CREDENTIAL_REFUSED: response('renew the credential: the target refuses it'),
  CREDENTIAL_UNUSABLE: response('put one token into the file, and nothing else'),
  EXCHANGE_FAILED: response(
    'read the response of the token endpoint in the log; client and audience may be wrong',
  ),
  EXCHANGE_UNAVAILABLE: response('try again; the gateway cannot reach the token endpoint'),
  EXCHANGE_WITHOUT_SUBJECT: response(
    'give the exchange a token to start from: a login, or callers with tokens',
  ),
  CLIENT_MISSING: log('give `--remote-auth-client-id`: this issuer registers no clients'),
  CLIENT_OF_ANOTHER_ISSUER: log('name the issuer that the secret is for with `--remote-auth-issuer`'),
  CLIENT_AUTHENTICATION_UNSUPPORTED: log(
    'let the issuer accept Basic, a secret in the body, or a public client',
  ),
  REGISTRATION_REFUSED: log('read what the issuer says, or register a client by hand'),
  AUTHORIZATION_URL_REFUSED: log('do not sign in there: the target names an unsafe URL for browsers'),
  CALLBACK_PORT_TAKEN: log('free the port, or choose another with `--remote-auth-callback-port`'),
  LOGIN_NEEDED: log('sign in: the URL is in the log'),
  LOGIN_LOOP: log('check scopes and audience: the target refuses even a new token'),
  LOGIN_ISSUER_UNKNOWN: log(
    'give `--remote-auth-issuer` instead of the two URLs: this issuer names itself in its responses',
  ),
  LOGIN_MIXED_UP: log('sign in again; the response came from another issuer'),
  LOGIN_REFUSED: log('read what the issuer says; the person may have declined'),
  LOGIN_STOPPED: log('nothing: the gateway was stopped'),
  LOGIN_TIMEOUT: log(
    'sign in at the page that was opened or printed, and send the request again; `--remote-auth-timeout` is how long a request waits',
  ),
  LOGIN_UNAVAILABLE: log('try again later: the last attempts failed'),
  DEVICE_FLOW_UNSUPPORTED: log('leave out `--remote-auth-device`: this issuer cannot do it'),
  PKCE_UNSUPPORTED: log('name the issuer with `--remote-auth-issuer`, if it supports PKCE without saying so'),
  RESOURCE_MISMATCH: log('do not trust the target: its metadata is for another resource'),
  METADATA_URL_INVALID: log('ask the operator of the target: its metadata URL is not valid'),
  METADATA_UNAVAILABLE: log('check that this machine reaches the metadata of the target'),
  'OAUTH_*': log(
    'the rest of the code is the error of the issuer (RFC 6749, 5.2); correct client, scopes or resource',
  ),
  ISSUER_INVALID: log('ask the operator of the target: the issuer that it names is not valid'),
  ISSUER_WITHOUT_METADATA: log('give `--remote-auth-authorize-url` and `--remote-auth-token-url`'),

  // Identity providers
  ISSUER_MISMATCH: log('copy `issuer` of the discovery document into `issuerUrl`, byte for byte'),
  DISCOVERY_FAILED: log('open `issuerUrl` + `/.well-known/openid-configuration` from this machine'),
  DISCOVERY_MALFORMED: log('check `issuerUrl`: there is no discovery document'),
  KEYS_FAILED: log('open the JWKS URL from this machine; it may need `authTokenFile`'),
  KEYS_MALFORMED: log('check `jwksUrl`: there is no set of keys'),

  // Requests of the gateway itself
  EGRESS_DNS: log('check the host name and the name server'),
  EGRESS_REFUSED: log('check the port, and that something listens there'),
  EGRESS_RESET: log('try again; if it stays, check proxies and firewalls on the way'),
  EGRESS_TIMEOUT: log('check firewalls: no response came in time'),
  EGRESS_UNREACHABLE: log('check routes and firewalls'),
  EGRESS_TLS: log('name the authority with `caCertPath`, or repair the certificate'),
  EGRESS_CLIENT_CERTIFICATE: log(
    'use a server that needs no client certificate: the gateway shows one to targets only',
  ),
  EGRESS_PRIVATE_ADDRESS: log('set `allowPrivateIP`, if that address is right'),
  EGRESS_INSECURE: log('use https; for a try, `SALLYPORT_INSECURE_HTTP=1` allows http'),
  EGRESS_REDIRECT: log('use the address of the redirect: the gateway follows none'),
  EGRESS_TOO_LARGE: log('check the URL: the response is too large'),
  EGRESS_MALFORMED: log('check the URL: the response is not HTTP'),
  EGRESS_URL_INVALID: log('correct the URL: http or https, without a password'),
  EGRESS_BEARER_INVALID: start('put one token into that file, on one line'),
  EGRESS_PROXY: log('check HTTPS_PROXY: that proxy opens no tunnel there'),
  EGRESS_PROXY_TIMEOUT: log('check HTTPS_PROXY, and firewalls on the way: that proxy does not respond'),
  EGRESS_CLOSED: log('nothing: the gateway is stopping'),
  EGRESS_FAILED: log('read the cause beside it'),
  CERTIFICATES_INVALID: start('put PEM certificates into that file'),

  // Sources of a registry
  SOURCE_STATUS: log('request that URL by hand: the registry responds with this status'),
  SOURCE_NONSENSE: log('check `url`: the gateway appends `/v0.1/servers`'),
  GIT_MISSING: log('install git'),
  GIT_FAILED: log('read what git says; the token may lack access'),
  GIT_TIMEOUT: log('raise `timeout` of the source'),
  GIT_REF_UNKNOWN: log('correct `ref`'),
  GIT_PATH_EMPTY: log('correct `path`'),
  GIT_TOO_LARGE: log(
    'raise `maxBytes`, the limit for all files of the commit, packed; or move the documents to a smaller repository',
  ),
  FILE_MALFORMED: log('repair that file: the message says what is wrong with it'),
  GIT_FILE_MALFORMED: log('repair that file: the message says what is wrong with it'),
  FILE_UNREADABLE: log('check the path, and that this user may read it'),

  // Redis
  REDIS_UNAVAILABLE: log(
    'read the reason in the same line; `sallyport doctor` checks Redis from this machine',
  ),
  REDIS_LOCK_LOST: log(
    'nothing: this process or Redis stood still for 10 s, and another process took the lock; the gateway tries again',
  ),

  // The tunnel
  TUNNEL_HOST_KEY: log('compare the key with that of the server itself before you trust it'),
  TUNNEL_LOGIN: log('give a key that the server accepts: `--tunnel-ssh-identity`, or the agent'),
  TUNNEL_PORT: log('choose another `--tunnel-ssh-remote-port`, or let the server allow it'),
  TUNNEL_UNREACHABLE: log('check the destination, its port, and firewalls'),
  TUNNEL_ENDED: log('read what the program says: `--debug` shows it'),
  TUNNEL_TIMEOUT: log('find out with `--debug` why it takes so long, or raise `--tunnel-timeout`'),
  TUNNEL_URL: log('give a pattern that finds an https URL with only a host, or `--tunnel-public-url`'),
  TUNNEL_PATTERN: log(
    'write the pattern for a line that comes early, without repetitions inside repetitions',
  ),

  // Secrets
  SIGN_IN_UNSUPPORTED: log('name another provider in `signIn`: this one has no code flow with PKCE'),
  COOKIE_KEY_SHORT: start('make a key: `openssl rand -base64 32 > cookie.key`'),
  SECRET_EMPTY: start('put the value in: it is empty'),
  SECRET_UNREADABLE: start('check the path, and that this user may read it'),
  SECRET_UNWRITABLE: start('check the path, and that this user may write it'),
  SECRETS_SEALED: start('give the passphrase with which the file was made'),
  SECRETS_BROKEN: start('restore the file: it is no file of encrypted secrets'),
  PASSPHRASE_MISSING: start('set SALLYPORT_SECRETS_PASSPHRASE or SALLYPORT_SECRETS_PASSPHRASE_FILE'),
  STATE_SEALED: start(
    'unlock the keyring or give the passphrase; or `sallyport auth logout all`, and sign in again',
  ),
  STATE_PLAIN: start(
    'for a login from before there was a key: `sallyport auth seal`; else `sallyport auth logout all`, and sign in again',
  ),
  REVOCATION_UNREAD: start(
    'run `sallyport auth revoke` with the file, the key file and the state store of the gateway, once it has started',
  ),
  DATABASE_UNAVAILABLE: response(
    'try again; the log says why the database cannot be used, `sallyport doctor` says more',
  ),
  DATABASE_NOT_MIGRATED: response('run `sallyport migrate --config FILE`; no restart is needed'),
  DATABASE_LOCK_LOST: response('try again; the connection to the database ended while a lock was held'),
  DATABASE_REFUSES_WRITES: response(
    'make room on the disk of the database, or point `url` to the server that takes writes; no restart is needed',
  ),
  DATABASE_CONFLICT: response('try again; another process wrote the same at once'),
  DATABASE_RIGHTS: response('grant the user of the database what `sallyport doctor` names'),
  DATABASE_FAILED: response('look up the SQLSTATE in the log: the database refused a statement'),
  KEYRING_MISSING: start('install `@napi-rs/keyring`, or keep the secret elsewhere'),
  KEYRING_UNAVAILABLE: start('unlock the keyring, or keep the secret elsewhere'),

  // Plugins
  PLUGIN_FAILED: start('the message names the plugin and the step; after a failed request, the log does'),
  PLUGIN_LATE: start('find out why a plugin takes so long to load'),
  CONTRACT_BROKEN: start('report it to the author of the plugin'),
  WORKERS_FAILED: start('read the lines before it: they say why the workers ended'),
  QUICKSTART_FAILED: start('try again with `--debug`'),
}

const inSource = errorsInSource()

/** The statuses of the responses with this code. */
export function statusesOf(code: string): readonly number[] {
  const statuses = new Set([...(errorCodes[code]?.statuses ?? []), ...(inSource.get(code) ?? [])])
  return [...statuses].toSorted((one, other) => one - other)
}
