import type { Catalogue } from 'sallyport'

/** Every built-in plugin by its name, which is its path. */
export const catalogue: Catalogue = {
  'auth/anonymous': () => import('./auth/anonymous.js'),
  'guard/origin': () => import('./guard/origin.js'),
  'internal/metrics': () => import('./internal/metrics.js'),
  'internal/server': () => import('./internal/server.js'),
  'listen/http': () => import('./listen/http.js'),
}
