import type { Readable, Writable } from 'node:stream'
import type { Catalogue } from 'sallyport/embed'

/** All built-in plugins by name, which is also the path. */
export const catalogue: Catalogue = {
  'audit/file': () => import('./audit/file.js'),
  'audit/http': () => import('./audit/http.js'),
  'auth/anonymous': () => import('./auth/anonymous.js'),
  'auth/introspection': () => import('./auth/introspection.js'),
  'auth/jwt': () => import('./auth/jwt.js'),
  'auth/kubernetes': () => import('./auth/kubernetes.js'),
  'auth/oidc': () => import('./auth/oidc.js'),
  'auth/public-paths': () => import('./auth/public-paths.js'),
  'credential/oauth': () => import('./credential/oauth.js'),
  'credential/static-bearer': () => import('./credential/static-bearer.js'),
  'credential/token-exchange': () => import('./credential/token-exchange.js'),
  'dev/issuer': () => import('./dev/issuer.js'),
  'dev/mcp-server': () => import('./dev/mcp-server.js'),
  'discovery/issuer': () => import('./discovery/issuer.js'),
  'discovery/resource': () => import('./discovery/resource.js'),
  'forward/balanced': () => import('./forward/balanced.js'),
  'forward/http': () => import('./forward/http.js'),
  'forward/http2': () => import('./forward/http2.js'),
  'guard/host': () => import('./guard/host.js'),
  'guard/origin': () => import('./guard/origin.js'),
  'headers/identity': () => import('./headers/identity.js'),
  'headers/static': () => import('./headers/static.js'),
  'headers/stored': () => import('./headers/stored.js'),
  'http/cors': () => import('./http/cors.js'),
  'http/redirect': () => import('./http/redirect.js'),
  'internal/metrics': () => import('./internal/metrics.js'),
  'internal/server': () => import('./internal/server.js'),
  'issuer/broker': () => import('./issuer/broker.js'),
  'limit/requests': () => import('./limit/requests.js'),
  'listen/http': () => import('./listen/http.js'),
  'listen/stdio': () => import('./listen/stdio.js'),
  'login/oauth2': () => import('./login/oauth2.js'),
  'login/oidc': () => import('./login/oidc.js'),
  'log/access': () => import('./log/access.js'),
  'pages/browse': () => import('./pages/browse.js'),
  'pages/sign-in': () => import('./pages/sign-in.js'),
  'policy/cel': () => import('./policy/cel.js'),
  'policy/tools': () => import('./policy/tools.js'),
  'registrar/dynamic': () => import('./registrar/dynamic.js'),
  'registrar/given': () => import('./registrar/given.js'),
  'registrar/metadata-document': () => import('./registrar/metadata-document.js'),
  'registrar/remembered': () => import('./registrar/remembered.js'),
  'registry/api': () => import('./registry/api.js'),
  'registry/catalogue': () => import('./registry/catalogue.js'),
  'registry/openapi': () => import('./registry/openapi.js'),
  'registry/publish': () => import('./registry/publish.js'),
  'secrets/directory': () => import('./secrets/directory.js'),
  'secrets/encrypted-file': () => import('./secrets/encrypted-file.js'),
  'secrets/environment': () => import('./secrets/environment.js'),
  'secrets/keyring': () => import('./secrets/keyring.js'),
  'source/file': () => import('./source/file.js'),
  'source/git': () => import('./source/git.js'),
  'source/http': () => import('./source/http.js'),
  'source/managed': () => import('./source/managed.js'),
  'state/memory': () => import('./state/memory.js'),
  'state/postgres': () => import('./state/postgres.js'),
  'state/redis': () => import('./state/redis.js'),
  'state/sqlite': () => import('./state/sqlite.js'),
  'store/postgres': () => import('./store/postgres.js'),
  'store/sqlite': () => import('./store/sqlite.js'),
  'trace/otlp': () => import('./trace/otlp.js'),
  'tunnel/command': () => import('./tunnel/command.js'),
  'tunnel/connection': () => import('./tunnel/connection.js'),
  'tunnel/ssh': () => import('./tunnel/ssh.js'),
}

/** The streams of a run of the program. */
export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean; unref?(): unknown }
  readonly stdout: Writable
  readonly stderr: Writable & { readonly isTTY?: boolean }
}

/**
 * The built-in plugins. Those that use standard input and output get the streams of the run instead of the process's
 * own.
 */
export const catalogueOn = (streams: Streams): Catalogue => ({
  ...catalogue,
  'listen/stdio': async () => ({ default: (await import('./listen/stdio.js')).stdioOn(streams) }),
  'credential/oauth': async () => ({ default: (await import('./credential/oauth.js')).oauthAt(streams) }),
})
