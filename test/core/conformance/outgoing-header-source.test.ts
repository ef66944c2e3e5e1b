import type { FastifyRequest } from 'fastify'
import { HeaderSource } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

const providing = (names: string[], headers: (request: FastifyRequest) => unknown): unknown => ({
  names,
  headers,
})

contractSuite('headers/static', () => ({
  list: [{ use: 'headers/static', with: { headers: [{ name: 'x-a', value: 'b' }] } }],
}))

findsFaults(HeaderSource, {
  'a source that expects an identity': {
    code: 'HEADERS_THROW',
    make: () => providing(['x-a'], (request) => [['x-a', Object(request.identity).subject.toString()]]),
  },
  'a source that returns an object': { code: 'HEADERS_THROW', make: () => providing(['x-a'], () => ({})) },
  'a header that is not in `names`': {
    code: 'HEADERS_UNDECLARED',
    make: () => providing([], () => [['x-a', 'b']]),
  },
  'a value with a control character': {
    code: 'HEADERS_MALFORMED',
    make: () => providing(['x-a'], () => [['x-a', 'b\r\nc: d']]),
  },
  'a header that frames the message': {
    code: 'HEADERS_MALFORMED',
    make: () => providing(['content-length'], () => []),
  },
  'writing to the request': {
    code: 'REQUEST_CHANGED',
    make: () =>
      providing(['x-a'], ({ headers }) => {
        headers['x-a'] = 'b'
        return []
      }),
  },
})
