import { PublicPath } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

contractSuite('auth/public-paths', () => ({
  list: [{ use: 'auth/public-paths', with: { paths: ['/registry/public', '/a.b/c~d/'] } }],
}))

const code = 'PATH_MALFORMED'

findsFaults(PublicPath, {
  'a path without a slash': { code, make: () => 'registry' },
  'a pattern': { code, make: () => '/registry/*' },
  'a parameter': { code, make: () => '/registry/:name' },
  'an encoding': { code, make: () => '/a%2Fb' },
  'a query': { code, make: () => '/a?b' },
  'a way up': { code, make: () => '/a/../b' },
})
