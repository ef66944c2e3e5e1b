import { ManagedSource } from 'sallyport'
import { findsFaults } from '#kit/conformance.js'

const publications = {}

findsFaults(ManagedSource, {
  'one without a name': {
    code: 'MANAGED_SOURCE_UNNAMED',
    make: () => ({ name: '', publications: () => publications }),
  },
  'one that opens it at each call': {
    code: 'PUBLICATIONS_MISSING',
    make: () => ({ name: 'published', publications: () => ({}) }),
  },
})
