import { Listener } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

contractSuite('listen/http and internal/server', () => ({
  list: [
    { use: 'listen/http', with: { address: '[::1]:0', maxConnections: 100, drainDelay: 0 } },
    { use: 'internal/server', with: { address: '127.0.0.1:0' } },
  ],
}))

const providing = (more: object): unknown => ({ port: 'main', address: '127.0.0.1:0', ...more })

findsFaults(Listener, {
  'a third port': { code: 'LISTENER_MALFORMED', make: () => providing({ port: 'admin' }) },
  'an address without a port': {
    code: 'LISTENER_MALFORMED',
    make: () => providing({ address: 'localhost' }),
  },
  'an IPv6 address without brackets': {
    code: 'LISTENER_MALFORMED',
    make: () => providing({ address: '::1:8080' }),
  },
  'a drain delay that is too long for a timer': {
    code: 'LISTENER_LIMITS',
    make: () => providing({ drainDelay: Number.POSITIVE_INFINITY }),
  },
  'a limit of 0 connections': { code: 'LISTENER_LIMITS', make: () => providing({ maxConnections: 0 }) },
  'a time that is a text': { code: 'LISTENER_LIMITS', make: () => providing({ headersTimeout: '20s' }) },
})
