import { PublicAddress } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'
import { providing } from '#kit/plugin.js'

type Watcher = (origin: string) => void
const addressOf = (origin: string | undefined, told = origin) => ({
  origin,
  watch: (watcher: Watcher) => void (told === undefined || watcher(told)),
})

const fixed = providing('fixed', PublicAddress, addressOf('https://a.example'))

contractSuite('a fixed address', () => ({ list: [fixed] }))

findsFaults(PublicAddress, {
  'a URL with a path': { code: 'ORIGIN_MALFORMED', make: () => addressOf('https://a.example/') },
  'a port that a browser leaves out': {
    code: 'ORIGIN_MALFORMED',
    make: () => addressOf('https://a.example:443'),
  },
  'a known origin that no watcher gets': {
    code: 'ORIGIN_UNTOLD',
    make: () => ({ ...addressOf('https://a.example'), watch: () => {} }),
  },
  'an origin that watchers get and that is not known': {
    code: 'ORIGIN_UNTOLD',
    make: () => addressOf(undefined, 'https://a.example'),
  },
})
