import { errorsInSource } from './source.js'

/** Where a code is met, and what to do about it. A caller sees it in lower case, the log as it stands here. */
export interface ErrorCode {
  readonly met: 'answer' | 'log' | 'start'
  readonly advice: string
  /** Of the answers that have the code, where the source does not write them beside it. */
  readonly statuses: readonly number[]
}

const answer = (advice: string, ...statuses: number[]): ErrorCode => ({ met: 'answer', advice, statuses })
const log = (advice: string): ErrorCode => ({ met: 'log', advice, statuses: [] })
const start = (advice: string): ErrorCode => ({ met: 'start', advice, statuses: [] })

/** Every code that the program gives to an error of its own, told for those who meet it. */
export const errorCodes: Readonly<Record<string, ErrorCode>> = {
  // The caller
  UNAUTHORIZED: answer('send `Authorization: Bearer TOKEN`; the challenge says where to get one'),
  INVALID_TOKEN: answer('get a new token; the log says why, and `sallyport explain` in full'),
  INVALID_REQUEST: answer('send one `Authorization` header: `Bearer`, one space, the token'),
  INSUFFICIENT_SCOPE: answer('ask for a token with the scopes that the challenge names'),
  ORIGIN_FORBIDDEN: answer(
    'list the origin of the page, which the log names: `allowedOrigins`, `--allowed-origins`',
    403,
  ),
  HOST_FORBIDDEN: answer(
    'call the gateway by a name that it knows, or list the one that the log names: `allowedHosts`, `--resource-url`',
  ),
  HOST_REPEATED: answer('send one `Host` header'),
  HOST_INVALID: answer('send the name or address of the gateway as `Host`, with its port, and nothing else'),
  METHOD_NOT_ALLOWED: answer('use a method that the header `Allow` names'),
  BODY_TOO_LARGE: answer(
    'send less, or raise `--max-body`; without it 1 MiB is the most where a policy or a limit reads bodies, and 16 MiB with it; for a document `maxDocumentBytes` of `registry/catalogue`',
  ),
  BODY_TOO_SLOW: answer(
    'send the body faster, and without pauses: one of a second is too long while `keptBodies` is full',
  ),
  TRANSFER_CODING: answer('send the body chunked or with its length'),
  REQUEST_UNSUPPORTED: answer('use `forward/http`: HTTP/2 does not carry this request, such as a WebSocket'),
  TARGET_FORM: answer('ask for a path'),
  PATH_OUTSIDE_TARGET: answer("stay below the target's path: `..` must not lead out of it"),
  QUERY_FIXED: answer('leave out what the query of `--target-uri` has: a request cannot change it'),
  STARTING: answer('try again in a second'),
  POLICY_DENIED: answer(
    'ask the operator; the log names the rule, and `sallyport explain` tells why it holds',
  ),
  POLICY_CANNOT_JUDGE: answer(
    'use POST with a JSON-RPC message: with policies nothing else reaches the target',
  ),
  POLICY_UNAVAILABLE: answer('try again; the log says which fault a policy has'),
  BODY_UNEXPECTED: answer('send GET, HEAD, OPTIONS and DELETE without a body'),
  MESSAGE_CONTENT_TYPE: answer('send one `Content-Type: application/json`'),
  MESSAGE_ENCODING: answer('send UTF-8 without byte order mark and without `Content-Encoding`'),
  MESSAGE_NOT_JSON: answer('send a JSON-RPC message', 400),
  MESSAGE_MALFORMED: answer('send a JSON-RPC request, notification or response, or a batch of them', 400),
  MESSAGE_AMBIGUOUS: answer(
    'send each member of the message once, and it and the method in their own spelling',
  ),
  MESSAGE_TOO_LARGE: answer(
    'send less at once: 100 messages, 1,000 names, 64 KiB of names, 1,000 levels, 100,000 members',
  ),
  MESSAGE_UNNAMED: answer('name what is called: `params.name`, `uri` or `ref`, as a text', 400),
  MESSAGE_HEADER_MISMATCH: answer(
    'send `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` once, and as the body has them',
  ),
  TOO_MANY_REQUESTS: answer(
    'wait for the seconds in `Retry-After`; the limits are those of `limit/requests` in the list',
  ),
  LIMIT_UNAVAILABLE: answer('try again; the log says which fault the limiter has'),
  AUTHENTICATION_BUSY: answer(
    'try again in a second; too many unknown tokens are being asked about, 64 at once for each address',
  ),
  AUTHENTICATION_UNAVAILABLE: answer(
    'try again; the identity provider is not reached, see `key_fetches_total`',
    401,
    503,
  ),
  SIGN_IN_UNKNOWN: answer(
    'begin the sign-in again, at the host of `resourceUrl`; its replicas need the same `cookieKeyFile`',
  ),
  SIGN_IN_UNAVAILABLE: answer('try again; the issuer where people sign in is not reached'),
  SIGN_OUT_FORBIDDEN: answer('sign out with the button of a page'),
  REGISTRY_NOT_LOADED: answer('try again; its sources are not read yet, see `/readiness`'),
  SYNC_FAILED: answer('read the reason, which is that of the source', 502, 503, 504),
  PUBLICATIONS_NOT_TAKEN: answer('publish to a registry that lists a source with `managed: {}`'),
  PUBLISH_FORBIDDEN: answer('use a name that the answer names, or have a rule added to `publishers`'),
  TOO_MANY_PUBLICATIONS: answer('wait for the seconds in `Retry-After`; the limit is `publishRate`', 429),
  BODY_NOT_JSON: answer('send one JSON value, in UTF-8'),
  BODY_INVALID: answer('correct what `issues` names; `POST /validate` tells the same without publishing'),
  NAME_TAKEN: answer('use another name: a source that comes first in the registry has this one'),
  STORED_NOT_SERVED: answer('ask for the version in some seconds; it is stored, and sent again it is a 409'),
  LOGIN_MALFORMED: answer('send `{"oidc_token": TOKEN}`'),
  LOGIN_UNKNOWN: answer('`mcp-publisher login github-oidc`, or send a token of the issuer directly'),

  // Publications
  VERSION_EXISTS: answer(
    'publish another version: one that was published never changes, also when it is deleted',
  ),
  TOO_MANY_VERSIONS: answer('ask the operator: this server has as many versions as it may have'),
  SOURCE_FULL: answer('purge versions that nobody needs, or ask the operator for more `maxBytes`'),
  PUBLISHER_FULL: answer(
    'purge versions of yours that nobody needs, or ask the operator for more `maxBytesEach`',
  ),
  PURGE_UNSUPPORTED: answer('ask the operator: the store of this registry keeps what was published for ever'),
  VERSION_UNKNOWN: answer('correct the name or the version: nothing is published as that'),
  STORE_UNWRITABLE: answer('try again; the message says what keeps the registry from storing it'),
  PUBLICATION_UNCERTAIN: answer('ask for the version before you send it again: it may have been stored'),
  SOURCE_NOT_OPEN: start('list `source/managed` before `registry/catalogue`'),

  // The target
  TARGET_REFUSED: answer('start the target, or correct `--target-uri`', 502),
  TARGET_DNS: answer('correct the host of `--target-uri`, or the name server', 502),
  TARGET_TLS: answer(
    'check the certificate of the target, `NODE_EXTRA_CA_CERTS` adds an authority; with TLS 1.2 it may ask for a client certificate',
    502,
  ),
  TARGET_CLIENT_CERTIFICATE: answer(
    'give the certificate that the target asks for: `targetClientCert` and `targetClientKey`',
    502,
  ),
  BODY_INCOMPLETE: answer('send the whole body: the connection ended before it did'),
  BODIES_FULL: answer(
    'ask again, send less at once, or raise `keptBodies` of `forward/http`: one caller has an eighth of it',
  ),
  TARGET_PLAIN_HTTP: answer(
    'give the target an https URL; `--allow-plain-http` sends credentials in plain text all the same',
  ),
  TARGET_RESET: answer("look into the target's log: it closed the connection half way", 502),
  TARGET_UNREACHABLE: answer('check routes and firewalls on the way to the target', 502),
  TARGET_MALFORMED: answer('check that the target speaks HTTP there, and not HTTPS', 502),
  TARGET_TOO_LARGE: answer('make the headers of the target smaller', 502),
  TARGET_PROXY: answer(
    'read in the log what the proxy of HTTPS_PROXY says: it opens no tunnel to the target',
    502,
  ),
  TARGET_PROXY_TIMEOUT: answer('check HTTPS_PROXY, and firewalls on the way to it: it does not answer', 504),
  TARGET_TIMEOUT: answer('raise `--target-timeout`, or find out why the target is slow'),
  TARGET_FAILED: answer('read the cause in the log'),
  TARGET_REDIRECT: answer('give the address that the target redirects to: a credential does not follow it'),
  BODY_NOT_REPEATABLE: answer('send the request again: its body was not kept for a second try'),

  RESPONSE_ENCODED: answer(
    'have the target honour `Accept-Encoding: identity`: its lists cannot be filtered',
  ),
  RESPONSE_PARTIAL: answer('have the target answer whole: its lists cannot be filtered'),
  RESPONSE_MALFORMED: answer('have the target send valid JSON in UTF-8, or events, under one content type'),
  RESPONSE_TOO_LARGE: answer(
    'have the target send lists in pages, and large results of tools as plain JSON: with policies, 16 MiB are the most of an event',
  ),
  CALLER_TOO_SLOW: log('read responses as they come: one that was not read was cut off'),
  RESPONSES_FULL: answer('ask again; 64 MiB of responses are being looked through for lists'),

  // The credential for the target
  CREDENTIAL_NOT_READY: answer('sign in: the URL is in the log'),
  CREDENTIAL_FAILED: answer('read the cause in the log'),
  HEADERS_FAILED: answer('read the cause in the log: a plugin that adds headers is broken'),
  CREDENTIAL_REFUSED: answer('renew what the target was given: it refuses it'),
  CREDENTIAL_UNUSABLE: answer('put one token into the file, and nothing else'),
  EXCHANGE_FAILED: answer(
    'read the answer of the token endpoint in the log; client and audience may be wrong',
  ),
  EXCHANGE_UNAVAILABLE: answer('try again; the token endpoint is not reached'),
  EXCHANGE_WITHOUT_SUBJECT: answer(
    'give the exchange something to start from: a login, or callers with tokens',
  ),
  CLIENT_MISSING: log('give `--remote-auth-client-id`: this issuer registers nobody'),
  CLIENT_OF_ANOTHER_ISSUER: log('name the issuer that the secret is for with `--remote-auth-issuer`'),
  CLIENT_AUTHENTICATION_UNSUPPORTED: log(
    'let the issuer accept Basic, a secret in the body, or a public client',
  ),
  REGISTRATION_REFUSED: log('read what the issuer says, or register a client by hand'),
  AUTHORIZATION_URL_REFUSED: log('do not sign in there: the URL is none that a browser should be sent to'),
  CALLBACK_PORT_TAKEN: log('free the port, or choose another with `--remote-auth-callback-port`'),
  LOGIN_NEEDED: log('sign in: the URL is in the log'),
  LOGIN_LOOP: log('check scopes and audience: the target refuses even a new token'),
  LOGIN_ISSUER_UNKNOWN: log(
    'give `--remote-auth-issuer` in place of the two URLs: this issuer says in its answers who it is',
  ),
  LOGIN_MIXED_UP: log('start again; the answer came from another issuer than was asked'),
  LOGIN_REFUSED: log('read what the issuer says; somebody may have declined'),
  LOGIN_STOPPED: log('nothing: the gateway was stopped'),
  LOGIN_TIMEOUT: log(
    'sign in at the page that was opened or printed, and ask again; `--remote-auth-timeout` is how long a request waits',
  ),
  LOGIN_UNAVAILABLE: log('try again later: the last attempts failed'),
  DEVICE_FLOW_UNSUPPORTED: log('leave out `--remote-auth-device`: this issuer cannot do it'),
  PKCE_UNSUPPORTED: log(
    'name the issuer with `--remote-auth-issuer`, if it supports PKCE and does not say so',
  ),
  RESOURCE_MISMATCH: log('do not trust the target: its metadata speaks of another resource'),
  METADATA_URL_INVALID: log('ask whoever runs the target: it names a metadata URL that is none'),
  METADATA_UNAVAILABLE: log('check that the metadata of the target can be reached from here'),
  'OAUTH_*': log(
    'the rest of the code is what the issuer said (RFC 6749, 5.2); correct client, scopes or resource',
  ),
  ISSUER_INVALID: log('ask whoever runs the target: it names an issuer that is none'),
  ISSUER_WITHOUT_METADATA: log('give `--remote-auth-authorize-url` and `--remote-auth-token-url`'),

  // Identity providers
  ISSUER_MISMATCH: log('copy `issuer` of the discovery document into `issuerUrl`, byte for byte'),
  DISCOVERY_FAILED: log('open `issuerUrl` + `/.well-known/openid-configuration` from this machine'),
  DISCOVERY_MALFORMED: log('check `issuerUrl`: what is there is no discovery document'),
  KEYS_FAILED: log('open the JWKS URL from this machine; it may want `authTokenFile`'),
  KEYS_MALFORMED: log('check `jwksUrl`: what is there is no set of keys'),

  // Requests of the gateway itself
  EGRESS_DNS: log('check the host name and the name server'),
  EGRESS_REFUSED: log('check the port, and that something listens there'),
  EGRESS_RESET: log('try again; if it stays, look at what stands between'),
  EGRESS_TIMEOUT: log('check firewalls: nothing came back in time'),
  EGRESS_UNREACHABLE: log('check routes and firewalls'),
  EGRESS_TLS: log('name the authority with `caCertPath`, or repair the certificate'),
  EGRESS_CLIENT_CERTIFICATE: log('reach it without a client certificate: only a target is given one'),
  EGRESS_PRIVATE_ADDRESS: log('set `allowPrivateIP`, if that address is meant'),
  EGRESS_INSECURE: log('use https; `SALLYPORT_INSECURE_HTTP=1` lifts that for a try'),
  EGRESS_REDIRECT: log('give the address that it redirects to: redirects are not followed'),
  EGRESS_TOO_LARGE: log('check the URL: the answer is larger than such an answer can be'),
  EGRESS_MALFORMED: log('check the URL: the answer is no HTTP'),
  EGRESS_URL_INVALID: log('correct the URL: http or https, without a password'),
  EGRESS_BEARER_INVALID: start('put one token into that file, on one line'),
  EGRESS_PROXY: log('check HTTPS_PROXY: it opens no tunnel there'),
  EGRESS_PROXY_TIMEOUT: log('check HTTPS_PROXY, and firewalls on the way to it: it does not answer'),
  EGRESS_CLOSED: log('nothing: the gateway is stopping'),
  EGRESS_FAILED: log('read the cause beside it'),
  CERTIFICATES_INVALID: start('put PEM certificates into that file'),

  // Sources of a registry
  SOURCE_STATUS: log('ask the registry at that URL by hand; it answers with this status'),
  SOURCE_NONSENSE: log('check `url`: `/v0.1/servers` is appended to it'),
  GIT_MISSING: log('install git'),
  GIT_FAILED: log('read what git says; the token may lack access'),
  GIT_TIMEOUT: log('raise `timeout` of the source'),
  GIT_REF_UNKNOWN: log('correct `ref`'),
  GIT_PATH_EMPTY: log('correct `path`'),
  GIT_TOO_LARGE: log(
    'raise `maxBytes`, which all files of the commit have to fit in, packed; or move the documents to a smaller repository',
  ),
  FILE_MALFORMED: log('repair that file: the message says what is wrong with it'),
  GIT_FILE_MALFORMED: log('repair that file: the message says what is wrong with it'),
  FILE_UNREADABLE: log('check the path, and that this user may read it'),

  // Redis
  REDIS_UNAVAILABLE: log('read the reason beside it; `sallyport doctor` looks at Redis from here'),
  REDIS_LOCK_LOST: log(
    'nothing: somebody else has the lock since this process or Redis stood still for 10 s; it is tried again',
  ),

  // The tunnel
  TUNNEL_HOST_KEY: log('compare the key with the one of the server itself before you trust it'),
  TUNNEL_LOGIN: log('give a key that the server takes: `--tunnel-ssh-identity`, or the agent'),
  TUNNEL_PORT: log('choose another `--tunnel-ssh-remote-port`, or let the server allow it'),
  TUNNEL_UNREACHABLE: log('check the destination, its port, and firewalls'),
  TUNNEL_ENDED: log('read what the program says: `--debug` shows it'),
  TUNNEL_TIMEOUT: log('find out with `--debug` why it takes so long, or raise `--tunnel-timeout`'),
  TUNNEL_URL: log('give a pattern that finds an https URL of nothing but a host, or `--tunnel-public-url`'),
  TUNNEL_PATTERN: log(
    'write the pattern for a line that comes early, without repetitions inside repetitions',
  ),

  // Secrets
  SIGN_IN_UNSUPPORTED: log('name another provider in `signIn`: this one has no code flow with PKCE'),
  COOKIE_KEY_SHORT: start('make a key: `openssl rand -base64 32 > cookie.key`'),
  SECRET_EMPTY: start('put the value in: what is there is empty'),
  SECRET_UNREADABLE: start('check the path, and that this user may read it'),
  SECRET_UNWRITABLE: start('check the path, and that this user may write it'),
  SECRETS_SEALED: start('give the passphrase that the file was made with'),
  SECRETS_BROKEN: start('restore the file: it is none of encrypted secrets'),
  PASSPHRASE_MISSING: start('set SALLYPORT_SECRETS_PASSPHRASE or SALLYPORT_SECRETS_PASSPHRASE_FILE'),
  STATE_SEALED: start(
    'unlock the keyring or give the passphrase; or `sallyport auth logout all`, and sign in again',
  ),
  STATE_PLAIN: start(
    'a login that was kept before there was a key: `sallyport auth seal`; else `sallyport auth logout all`, and sign in again',
  ),
  REVOCATION_UNREAD: start(
    'run `sallyport auth revoke` with the file, the key file and the state store of the gateway, once it has started',
  ),
  DATABASE_UNAVAILABLE: answer(
    'try again; the log says why the database cannot be used, `sallyport doctor` more',
  ),
  DATABASE_NOT_MIGRATED: answer('run `sallyport migrate --config FILE`; no restart is needed'),
  DATABASE_LOCK_LOST: answer('try again; the connection to the database ended while a lock was held'),
  DATABASE_REFUSES_WRITES: answer(
    'make room on the disk of the database, or point `url` to the server that takes writes; no restart is needed',
  ),
  DATABASE_CONFLICT: answer('try again; somebody else wrote the same at once'),
  DATABASE_RIGHTS: answer('grant the user of the database what `sallyport doctor` names'),
  DATABASE_FAILED: answer('look up the SQLSTATE in the log: the database refused a statement'),
  KEYRING_MISSING: start('install `@napi-rs/keyring`, or keep the secret elsewhere'),
  KEYRING_UNAVAILABLE: start('unlock the keyring, or keep the secret elsewhere'),

  // Plugins
  PLUGIN_FAILED: start(
    'read the plugin and the step in the message; in an answer, the plugin that the log names',
  ),
  PLUGIN_LATE: start('find out why a plugin takes so long to load'),
  CONTRACT_BROKEN: start('report it to the author of the plugin'),
  WORKERS_FAILED: start('read the lines before it: they say how the workers ended'),
  QUICKSTART_FAILED: start('try again with `--debug`'),
}

const made = errorsInSource()

/** The statuses of the answers that have a code. */
export function statusesOf(code: string): readonly number[] {
  const statuses = new Set([...(errorCodes[code]?.statuses ?? []), ...(made.get(code) ?? [])])
  return [...statuses].toSorted((one, other) => one - other)
}
