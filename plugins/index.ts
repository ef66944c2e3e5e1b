import type { Catalogue } from 'sallyport'

/** Every built-in plugin by its name, which is its path. */
export const catalogue: Catalogue = {
  'auth/anonymous': () => import('./auth/anonymous.js'),
  'auth/introspection': () => import('./auth/introspection.js'),
  'auth/jwt': () => import('./auth/jwt.js'),
  'auth/kubernetes': () => import('./auth/kubernetes.js'),
  'auth/oidc': () => import('./auth/oidc.js'),
  'auth/public-paths': () => import('./auth/public-paths.js'),
  'discovery/resource': () => import('./discovery/resource.js'),
  'forward/http': () => import('./forward/http.js'),
  'guard/origin': () => import('./guard/origin.js'),
  'internal/metrics': () => import('./internal/metrics.js'),
  'internal/server': () => import('./internal/server.js'),
  'listen/http': () => import('./listen/http.js'),
  'pages/people': () => import('./pages/people.js'),
  'registry/api': () => import('./registry/api.js'),
  'registry/catalogue': () => import('./registry/catalogue.js'),
  'registry/openapi': () => import('./registry/openapi.js'),
  'source/file': () => import('./source/file.js'),
  'source/git': () => import('./source/git.js'),
  'source/http': () => import('./source/http.js'),
}
