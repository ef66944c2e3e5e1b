import type { SettingGroup } from '../settings/setting.js'
import { tlsGroup } from '../tls.js'

const SEEN = 'other users of this machine can see a flag, so prefer the file'

// biome-ignore format: a setting is a line
export const target = [
  { name: 'target-uri', type: 'url', required: true, to: 'forward/http.target', help: 'The MCP server that requests are forwarded to; a query of it goes before that of a request' },
] as const satisfies SettingGroup['options']

// biome-ignore format: a setting is a line
export const mainPort = [
  { name: 'trusted-proxies', type: 'list', placeholder: 'CIDRS', to: 'listen/http.trustedProxies', help: 'Addresses and ranges of proxies in front, whose Forwarded and X-Forwarded-For are believed' },
  { name: 'access-log', type: 'choice', choices: ['off', 'errors', 'all'], default: 'errors', help: 'Which requests get a line in the log when they have ended: those answered with 4xx or 5xx, or all' },
  { name: 'drain-delay', type: 'duration', to: 'listen/http.drainDelay', help: 'How long the port goes on accepting after SIGTERM, while /readiness is 503; 0 by default, and 5s in Kubernetes' },
] as const satisfies SettingGroup['options']

// biome-ignore format: a setting is a line
const listening = [
  { name: 'host', type: 'string', default: '127.0.0.1', help: 'Host or IP address to listen on' },
  { name: 'port', type: 'port', default: '0', help: 'Port to listen on; 0 takes a free one, printed in the ready line' },
  { name: 'internal-address', type: 'address', to: 'internal/server.address', help: 'Serve /health, /readiness, /version and /metrics there' },
  { name: 'allowed-origins', type: 'list', help: 'Browser origins that may use the proxy, compared exactly; on a loopback host by default those of loopback with its own port' },
  { name: 'resource-url', type: 'url', help: "The proxy's own URL as clients know it, for discovery (RFC 9728)" },
] as const satisfies SettingGroup['options']

/** Checking the tokens of requests that reach the proxy. */
// biome-ignore format: a setting is a line
const incoming = {
  title: 'Who may use the proxy',
  options: [
    { name: 'oidc-issuer', type: 'url', to: 'auth/oidc.issuerUrl', help: 'Issuer of the tokens that are accepted; turns the check on' },
    { name: 'oidc-audience', type: 'string', to: 'auth/oidc.audience', needs: 'oidc-issuer', help: 'Audience that a token must be for' },
    { name: 'oidc-any-audience', type: 'boolean', to: 'auth/oidc.anyAudience', needs: 'oidc-issuer', help: 'Accept tokens for any audience, instead of --oidc-audience' },
    { name: 'oidc-client-id', type: 'string', to: 'auth/oidc.clientId', needs: 'oidc-issuer', help: 'Client ID for introspection requests' },
    { name: 'oidc-client-secret', type: 'string', secret: true, to: 'auth/oidc.clientSecret', needs: 'oidc-issuer', help: `Client secret for introspection; ${SEEN}` },
    { name: 'oidc-client-secret-file', type: 'string', to: 'auth/oidc.clientSecretFile', needs: 'oidc-issuer', help: 'File that holds the client secret for introspection' },
    { name: 'oidc-introspection-url', type: 'url', to: 'auth/oidc.introspectionUrl', needs: 'oidc-issuer', help: 'Token introspection endpoint (RFC 7662), for tokens that are not JWTs' },
    { name: 'oidc-jwks-url', type: 'url', to: 'auth/oidc.jwksUrl', needs: 'oidc-issuer', help: "The issuer's keys; found by discovery by default" },
    { name: 'oidc-accept-id-tokens', type: 'boolean', to: 'auth/oidc.acceptIdTokens', needs: 'oidc-issuer', help: 'Accept ID tokens too: the access tokens of Dex cannot be told from them' },
    { name: 'oidc-scopes', type: 'list', default: 'openid', help: 'Scopes that discovery advertises (RFC 9728)' },
    { name: 'oidc-ca-cert', type: 'string', placeholder: 'FILE', to: 'auth/oidc.caCertPath', needs: 'oidc-issuer', help: 'CA certificates to trust for the issuer, instead of the usual ones' },
    { name: 'oidc-auth-token-file', type: 'string', to: 'auth/oidc.authTokenFile', needs: 'oidc-issuer', help: 'File with a token that authenticates key fetches and introspection' },
    { name: 'oidc-allow-private-ip', type: 'boolean', to: 'auth/oidc.allowPrivateIP', needs: 'oidc-issuer', help: 'The issuer may be at a private or loopback address' },
    { name: 'allow-unauthenticated', type: 'boolean', help: 'Use outgoing credentials for anybody who can reach a host that is not loopback' },
  ],
} as const satisfies SettingGroup

/** The authorization server of the proxy, where MCP clients register and people sign in. */
// biome-ignore format: a setting is a line
const broker = {
  title: 'Sign-in of callers',
  options: [
    { name: 'broker-client-id', type: 'string', to: 'login/oidc.clientId', help: "The proxy's client ID at --oidc-issuer, where people sign in; turns the broker on: MCP clients register at the proxy itself" },
    { name: 'broker-client-secret-file', type: 'string', to: 'login/oidc.clientSecretFile', needs: 'broker-client-id', help: 'File that holds the client secret' },
    { name: 'broker-key-file', type: 'string', to: 'issuer/broker.keyFile', needs: 'broker-client-id', help: 'File of the key that signs tokens and seals what is stored; made at the first start, shared by replicas' },
    { name: 'broker-require', type: 'repeatable', placeholder: 'CLAIM=VALUE[,VALUE]', needs: 'broker-client-id', help: 'Who may sign in: a claim of the provider and the values that may sign in, or anyone' },
    { name: 'broker-scopes', type: 'list', to: 'login/oidc.scopes', needs: 'broker-client-id', help: 'Scopes to ask the provider for; openid,profile,email by default' },
    { name: 'broker-claims', type: 'list', to: 'issuer/broker.claims', needs: 'broker-client-id', help: 'Claims of the provider that tokens have too' },
    { name: 'broker-subject', type: 'string', placeholder: 'CLAIM', to: 'login/oidc.subject', needs: 'broker-client-id', help: 'Claim that names a person for good; sub by default, and id with --broker-user-url' },
    { name: 'broker-registration', type: 'choice', choices: ['off', 'loopback', 'listed', 'open'], needs: 'broker-client-id', help: 'Which clients may register: none, programs on the own machine (the default), those and --broker-redirect-hosts, or all' },
    { name: 'broker-redirect-hosts', type: 'list', placeholder: 'HOSTS', needs: 'broker-client-id', help: 'Hosts of redirect URIs, with --broker-registration listed' },
    { name: 'broker-documents', type: 'list', placeholder: 'HOSTS', needs: 'broker-client-id', help: 'Hosts whose client metadata documents are accepted; all by default' },
    { name: 'broker-consent', type: 'choice', choices: ['remembered', 'each-time'], to: 'issuer/broker.consent', needs: 'broker-client-id', help: 'Whether people are asked again for a client that they allowed; programs on a computer always ask' },
    { name: 'broker-access-token', type: 'duration', min: 1000, needs: 'broker-client-id', help: 'How long an access token is good; 1h by default' },
    { name: 'broker-refresh-token', type: 'duration', min: 1000, needs: 'broker-client-id', help: 'How long a refresh token is good; 720h by default' },
    { name: 'broker-authorize-url', type: 'url', to: 'login/oauth2.authorizeUrl', needs: 'broker-client-id', help: 'Page where people sign in at a provider without OpenID Connect, instead of --oidc-issuer' },
    { name: 'broker-token-url', type: 'url', to: 'login/oauth2.tokenUrl', needs: 'broker-client-id', help: 'Where that provider redeems codes' },
    { name: 'broker-user-url', type: 'url', to: 'login/oauth2.userUrl', needs: 'broker-client-id', help: 'Where that provider says who a person is' },
    { name: 'broker-allow-private-ip', type: 'boolean', needs: 'broker-client-id', help: 'Metadata documents of clients may be at private addresses' },
    { name: 'broker-ca-cert', type: 'string', placeholder: 'FILE', needs: 'broker-client-id', help: 'CA certificates to trust for metadata documents of clients' },
  ],
} as const satisfies SettingGroup

/** TLS between the proxy and the target. */
// biome-ignore format: a setting is a line
export const targetTls = [
  { name: 'target-ca-cert', type: 'string', placeholder: 'FILE', to: 'forward/http.targetCaCert', help: 'CA certificates to trust for the target, instead of the usual ones; read again when they change' },
  { name: 'target-client-cert', type: 'string', placeholder: 'FILE', to: 'forward/http.targetClientCert', help: 'Client certificate for the target, in PEM; read again when it changes' },
  { name: 'target-client-key', type: 'string', placeholder: 'FILE', to: 'forward/http.targetClientKey', help: 'Private key of --target-client-cert' },
] as const satisfies SettingGroup['options']

// biome-ignore format: a setting is a line
export const plainHttp = [
  { name: 'allow-plain-http', type: 'boolean', to: 'forward/http.allowPlainHttp', help: 'Send credentials over plain http to a target that is neither on this machine nor in a private network' },
] as const satisfies SettingGroup['options']

/** The credentials and headers that the operator adds to requests. */
// biome-ignore format: a setting is a line
export const targetCredentials = [
  { name: 'remote-auth-bearer-token', type: 'string', secret: true, to: 'credential/static-bearer.token', help: `Bearer token for the target; ${SEEN}` },
  { name: 'remote-auth-bearer-token-file', type: 'string', to: 'credential/static-bearer.file', help: 'File that holds the bearer token for the target' },
  { name: 'remote-forward-headers', type: 'pair', secret: true, help: 'Header to add to every request to the target' },
  { name: 'remote-forward-headers-secret', type: 'pair', placeholder: 'NAME=SECRET-NAME', help: 'Header to add whose value is a stored secret: SALLYPORT_SECRET_<NAME>, a file in --secrets-dir, or the keyring' },
  { name: 'secrets-dir', type: 'string', to: 'secrets/directory.path', help: 'Directory with one file for each secret, named like it' },
] as const satisfies SettingGroup['options']

// biome-ignore format: a setting is a line
const outgoing = {
  title: 'What the target receives',
  options: [
    { name: 'target-http2', type: 'boolean', needs: 'https-target', help: 'Speak HTTP/2 to the target, over https and without an outgoing proxy' },
    ...targetTls,
    ...targetCredentials,
    { name: 'remote-forward-claims', type: 'pair', placeholder: 'NAME=CLAIM', needs: 'authentication', help: "Header to add whose value is a claim of the caller's checked token, such as X-User=sub" },
    ...plainHttp,
    { name: 'forward-authorization', type: 'boolean', help: "Forward the caller's Authorization after it was checked here" },
    { name: 'forward-cookies', type: 'boolean', help: "Forward the caller's cookies after its token was checked here" },
    { name: 'forwarded-headers', type: 'boolean', to: 'forward/http.forwardedHeaders', help: 'Send the address of the caller to the target, in Forwarded and X-Forwarded-*' },
  ],
} as const satisfies SettingGroup

/** Signing in to the target with OAuth. */
// biome-ignore format: a setting is a line
export const oauth = {
  title: 'OAuth to the target',
  options: [
    { name: 'remote-auth', type: 'boolean', help: 'Sign in to the target with OAuth or OIDC' },
    { name: 'remote-auth-issuer', type: 'url', to: 'credential/oauth.issuer', help: 'Issuer of the authorization server (OIDC)' },
    { name: 'remote-auth-authorize-url', type: 'url', to: 'credential/oauth.authorizationUrl', help: 'Authorization endpoint, for a server without discovery' },
    { name: 'remote-auth-token-url', type: 'url', to: 'credential/oauth.tokenUrl', help: 'Token endpoint, for a server without discovery' },
    { name: 'remote-auth-client-id', type: 'string', to: 'registrar/given.clientId', help: 'Client ID; not needed where clients can register themselves' },
    { name: 'remote-auth-client-secret', type: 'string', secret: true, to: 'registrar/given.clientSecret', needs: 'remote-auth', env: ['SALLYPORT_REMOTE_OAUTH_CLIENT_SECRET', 'SERVICE_REMOTE_OAUTH_CLIENT_SECRET'], help: `Client secret; ${SEEN}` },
    { name: 'remote-auth-client-secret-file', type: 'string', to: 'registrar/given.clientSecretFile', needs: 'remote-auth', help: 'File that holds the client secret' },
    { name: 'remote-auth-client-key-file', type: 'string', to: 'registrar/given.clientKeyFile', needs: 'remote-auth', help: 'File that holds the private key of a client without a person, in place of a secret (RFC 7523)' },
    { name: 'remote-auth-scopes', type: 'list', to: 'credential/oauth.scopes', needs: 'remote-auth', help: 'Scopes to ask for; with --remote-auth-issuer by default openid,profile,email' },
    { name: 'remote-auth-scope-param-name', type: 'string', to: 'credential/oauth.scopeParameter', needs: 'remote-auth', help: 'Query parameter of the authorization URL that carries the scopes, where it is not "scope"' },
    { name: 'remote-auth-resource', type: 'string', placeholder: 'URI', emptyAllowed: true, to: 'credential/oauth.resource', needs: 'remote-auth', help: "Resource indicator (RFC 8707) instead of the target's own; '' sends none" },
    { name: 'remote-auth-grant', type: 'choice', choices: ['authorization_code', 'client_credentials'], default: 'authorization_code', help: 'How a token is obtained' },
    { name: 'remote-auth-device', type: 'boolean', needs: 'remote-auth', help: 'Sign in on another device, by a code (RFC 8628)' },
    { name: 'remote-auth-callback-port', type: 'port', default: '8666', to: 'credential/oauth.callbackPort', needs: 'remote-auth', help: 'Port of the local server that the browser returns to' },
    { name: 'remote-auth-skip-browser', type: 'boolean', needs: 'remote-auth', help: 'Print the sign-in URL and open no browser' },
    { name: 'remote-auth-timeout', type: 'duration', min: 1, default: '30s', to: 'credential/oauth.timeout', needs: 'remote-auth', help: 'How long a request waits for a sign-in; the sign-in stays open for 10 minutes' },
    { name: 'remote-auth-no-store', type: 'boolean', needs: 'remote-auth', help: 'Keep tokens and registered clients in memory only' },
    { name: 'remote-auth-no-keyring', type: 'boolean', needs: 'remote-auth', help: "Keep them in files of this user alone, not encrypted with a key in the operating system's keyring" },
    { name: 'remote-auth-allow-private-ip', type: 'boolean', to: 'credential/oauth.allowPrivateIP', needs: 'remote-auth', help: 'The servers that the target names for signing in may be at a private or loopback address' },
  ],
} as const satisfies SettingGroup

/** OAuth 2.0 token exchange, RFC 8693. */
// biome-ignore format: a setting is a line
export const exchange = {
  title: 'Token exchange',
  options: [
    { name: 'token-exchange-url', type: 'url', to: 'credential/token-exchange.url', help: 'Token endpoint that exchanges tokens; turns the exchange on' },
    { name: 'token-exchange-audience', type: 'string', to: 'credential/token-exchange.audience', needs: 'token-exchange-url', help: 'Audience of the exchanged tokens' },
    { name: 'token-exchange-resource', type: 'string', placeholder: 'URI', to: 'credential/token-exchange.resource', needs: 'token-exchange-url', help: 'Resource that the exchanged tokens are for' },
    { name: 'token-exchange-client-id', type: 'string', to: 'credential/token-exchange.clientId', needs: 'token-exchange-url', help: 'Client ID for the exchange' },
    { name: 'token-exchange-client-secret', type: 'string', secret: true, to: 'credential/token-exchange.clientSecret', needs: 'token-exchange-url', help: `Client secret for the exchange; ${SEEN}` },
    { name: 'token-exchange-client-secret-file', type: 'string', to: 'credential/token-exchange.clientSecretFile', needs: 'token-exchange-url', help: 'File that holds the client secret for the exchange' },
    { name: 'token-exchange-scopes', type: 'list', to: 'credential/token-exchange.scopes', needs: 'token-exchange-url', help: 'Scopes of the exchanged tokens' },
    { name: 'token-exchange-header-name', type: 'string', default: 'Authorization', to: 'credential/token-exchange.headerName', needs: 'token-exchange-url', help: 'Header that carries the exchanged token' },
    { name: 'token-exchange-subject-token-type', type: 'choice', choices: ['access_token', 'id_token', 'urn:ietf:params:oauth:token-type:access_token', 'urn:ietf:params:oauth:token-type:id_token'], default: 'access_token', to: 'credential/token-exchange.subjectTokenType', needs: 'token-exchange-url', help: 'Type of the token that is exchanged' },
    { name: 'token-exchange-actor-token-file', type: 'string', to: 'credential/token-exchange.actorTokenFile', needs: 'token-exchange-url', help: "File that holds the actor's token, for delegation" },
    { name: 'token-exchange-ca-cert', type: 'string', placeholder: 'FILE', to: 'credential/token-exchange.caCertPath', needs: 'token-exchange-url', help: 'CA certificates to trust for the token endpoint, instead of the usual ones' },
    { name: 'token-exchange-allow-private-ip', type: 'boolean', to: 'credential/token-exchange.allowPrivateIP', needs: 'token-exchange-url', help: 'The token endpoint may be at a private or loopback address' },
  ],
} as const satisfies SettingGroup

// biome-ignore format: a setting is a line
const limits = {
  title: 'Limits',
  options: [
    { name: 'target-timeout', type: 'duration', to: 'forward/http.targetTimeout', help: 'How long the target may take to begin its response; 60s by default, and none for streams' },
    { name: 'end-streams-with-token', type: 'boolean', to: 'forward/http.endStreamsWithToken', needs: 'authentication', help: "Break event streams and WebSockets off when the caller's token expires, so that it has to ask again" },
    { name: 'max-body', type: 'size', min: 1, to: 'forward/http.maxBody', help: 'Largest request body, such as 16MiB; by default 1MiB where a policy or a limit reads it, and no limit elsewhere' },
    { name: 'max-connections', type: 'int', min: 1, placeholder: 'COUNT', to: 'listen/http.maxConnections', help: 'Most connections at once; by default without limit' },
  ],
} as const satisfies SettingGroup

/**
 * Every setting of the proxy. A line here is a flag, a variable, a key of the file, a line of the help, and an
 * option.
 */
export const proxyTable = [
  { title: 'General', options: [...target, ...listening, ...mainPort] },
  tlsGroup,
  incoming,
  broker,
  outgoing,
  oauth,
  exchange,
  limits,
] as const satisfies readonly SettingGroup[]

// biome-ignore format: a setting is a line
export const tunnelGroup = {
  title: 'The tunnel',
  options: [
    { name: 'tunnel-provider', type: 'string', placeholder: 'ssh|command|FILE', required: true, help: 'Who opens the tunnel: ssh, command, or a plugin of your own, by its package or a path such as ./tunnel.js' },
    { name: 'tunnel-public-url', type: 'url', help: 'The https URL of the proxy for callers outside, where the tunnel does not report it' },
    { name: 'tunnel-timeout', type: 'duration', min: 1, to: 'tunnel/connection.timeout', help: 'How long it may take until the public URL is known; 20s by default, and 28s at most' },
    { name: 'tunnel-ssh-destination', type: 'string', placeholder: '[USER@]HOST', to: 'tunnel/ssh.destination', needs: 'tunnel-provider ssh', help: 'ssh: the server, as in the ssh configuration of this user' },
    { name: 'tunnel-ssh-port', type: 'port', to: 'tunnel/ssh.port', needs: 'tunnel-provider ssh', help: 'ssh: port of the server; by default that of the ssh configuration' },
    { name: 'tunnel-ssh-identity', type: 'string', placeholder: 'FILE', to: 'tunnel/ssh.identityFile', needs: 'tunnel-provider ssh', help: 'ssh: private key to sign in with; by default those of this user and the agent' },
    { name: 'tunnel-ssh-known-hosts', type: 'string', placeholder: 'FILE', to: 'tunnel/ssh.knownHostsFile', needs: 'tunnel-provider ssh', help: 'ssh: the host keys to trust; by default those of this user and this machine' },
    { name: 'tunnel-ssh-remote-host', type: 'string', to: 'tunnel/ssh.remoteHost', needs: 'tunnel-provider ssh', help: 'ssh: where the server is to listen; 127.0.0.1 by default, others need its GatewayPorts' },
    { name: 'tunnel-ssh-remote-port', type: 'port', to: 'tunnel/ssh.remotePort', needs: 'tunnel-provider ssh', help: 'ssh: port on which the server is to listen; by default it chooses one' },
    { name: 'tunnel-command', type: 'string', needs: 'tunnel-provider command', help: 'command: the program and its arguments, with {url}, {host} and {port} for the proxy; split at spaces outside quotes; no shell is involved' },
    { name: 'tunnel-command-pattern', type: 'string', placeholder: 'REGEX', to: 'tunnel/command.pattern', needs: 'tunnel-provider command', help: 'command: regular expression whose one group is the public URL in what the program prints; by default the first https URL without a path' },
    { name: 'tunnel-option', type: 'pair', emptyAllowed: true, needs: 'tunnel-provider of your own', help: 'An option of a provider of your own; no secrets, as other users of this machine can see a flag' },
  ],
} as const satisfies SettingGroup

/** Every setting of the proxy behind a tunnel. */
export const tunnelTable = [...proxyTable, tunnelGroup] as const satisfies readonly SettingGroup[]
