import { ManagedSource } from 'sallyport'
import { findsFaults } from '#kit/conformance.js'

const publications = {}

findsFaults(ManagedSource, {
  'a managed source without a name': {
    code: 'MANAGED_SOURCE_UNNAMED',
    make: () => ({ name: '', publications: () => publications }),
  },
  'a managed source that opens its publications at each call': {
    code: 'PUBLICATIONS_MISSING',
    make: () => ({ name: 'published', publications: () => ({}) }),
  },
})
