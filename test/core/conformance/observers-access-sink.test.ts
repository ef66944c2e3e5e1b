import type { FastifyRequest } from 'fastify'
import { AccessSink, definePlugin } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

const logging = definePlugin({
  name: 'logging',
  api: 1,
  provides: [AccessSink],
  setup: (gateway) =>
    gateway.provide(AccessSink, { from: 0, ended: ({ status }) => gateway.log.info({ status }, 'seen') }),
})

contractSuite('an access sink that logs', () => ({ list: [{ use: logging }] }))

findsFaults(AccessSink, {
  'an access sink that wants no status': { code: 'ACCESS_FROM', make: () => ({ ended() {} }) },
  'an access sink that expects a caller': {
    code: 'ACCESS_THROWS',
    make: () => ({
      from: 0,
      ended: ({ request }: { request: { identity: { subject: string } } }) => void request.identity.subject,
    }),
  },
  'an access sink that expects a complete response': {
    code: 'ACCESS_THROWS',
    make: () => ({
      from: 0,
      ended({ status }: { request: FastifyRequest; status: number }) {
        if (status >= 400) throw new Error('no')
      },
    }),
  },
  'an access sink that is asynchronous': {
    code: 'ACCESS_ANSWERS',
    make: () => ({ from: 0, ended: async () => {} }),
  },
})
