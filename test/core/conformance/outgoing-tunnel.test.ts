import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { Tunnel } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'
import { deferred } from '#kit/deferred.js'

const client = join(import.meta.dirname, '../../plugins/tunnel/client.mjs')

contractSuite('tunnel/command', () => ({
  list: [
    {
      use: 'tunnel/command',
      with: { command: [process.execPath, client, '{port}'], pattern: 'url=(\\S+)' },
    },
  ],
}))

function opening(more: object = {}) {
  return async (_local: URL, signal: AbortSignal) => {
    await setImmediate()
    signal.throwIfAborted()
    const { promise: lost, resolve: lose } = deferred<string>()
    return { url: 'https://a.example', lost, close: async () => lose('closed'), ...more }
  }
}
const providing = (more: object): unknown => ({ name: 't', key: 'k', open: opening(), ...more })

findsFaults(Tunnel, {
  'a tunnel without a key': { code: 'TUNNEL_UNNAMED', make: () => providing({ key: '' }) },
  'opening in spite of the abort': {
    code: 'ABORT_IGNORED',
    make: () => providing({ open: (local: URL) => opening()(local, new AbortController().signal) }),
  },
  'a URL that cannot be parsed': {
    code: 'TUNNEL_MALFORMED',
    make: () => providing({ open: opening({ url: 'a.example' }) }),
  },
  'a loss that is never reported': {
    code: 'TUNNEL_MALFORMED',
    make: () => providing({ open: opening({ lost: new Promise(() => {}) }) }),
  },
})
