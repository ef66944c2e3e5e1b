/** A request and a response as bytes; `HOST` is replaced by the host. */
export interface Case {
  readonly name: string
  readonly request: string
  readonly answer: string
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
const post = (headers: string, body: string, path = '/mcp'): string =>
  `POST ${path} HTTP/1.1\r\nHost: HOST\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`
const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: HOST\r\n${headers}\r\n`
const chunks = (...parts: readonly string[]): string =>
  [...parts, ''].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')
const chunkedPost = (headers: string, body: string): string =>
  `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${headers}Transfer-Encoding: chunked\r\n\r\n${body}`

const CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}'
const JSON_TYPE = 'Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n'

const requests: readonly (readonly [name: string, request: string])[] = [
  ['a call', post(`${JSON_TYPE}Mcp-Session-Id: abc\r\nMCP-Protocol-Version: 2025-11-25\r\n`, CALL)],
  ['a stateless call', post(`${JSON_TYPE}Mcp-Method: tools/call\r\nMcp-Name: x\r\n`, CALL)],
  ['a batch with white space', post(JSON_TYPE, `[ ${CALL} ,\n ${CALL} ]`)],
  ['JSON that is none', post(JSON_TYPE, '{"a":1,')],
  ['a chunked call', chunkedPost(JSON_TYPE, chunks('{"a"', ':1}'))],
  ['a chunked call with trailers', chunkedPost('Trailer: X-Sum\r\n', `3\r\nabc\r\n0\r\nX-Sum: 9\r\n\r\n`)],
  ['an empty body', post('', '')],
  ['every byte in a body', post('', String.fromCharCode(...Array.from({ length: 256 }, (_, byte) => byte)))],
  ['a content type that is none', post('Content-Type: }{\r\n', 'x')],
  ['a form', post('Content-Type: application/x-www-form-urlencoded\r\n', 'access_token=a&b=%20+')],
  ['header case and order', get('/', 'zEd: 1\r\nAlpha: 2\r\nx-UPPER: 3\r\nbeta:4\r\n')],
  ['repeated headers', get('/', 'X-A: 1\r\nX-B: 2\r\nX-A: 3\r\nCookie: a=1\r\nCookie: b=2\r\nX-A:\r\n')],
  ['authorization', get('/', 'Authorization: Bearer token\r\n')],
  ['bytes beyond ASCII in a header', get('/', 'X-Name: \xe4\xff\xa0\r\n')],
  ['a long header', get('/', `X-Long: ${'y'.repeat(12_000)}\r\n`)],
  ['encoded paths', get('/a%2Fb/%2e%2e/%zz/%C3%A4/%ff/+;p=1')],
  ['dots and double slashes', get('//evil.example//x/../y/./z/')],
  ['characters a URL would mend', get('/a"<>`{}|^\\[]~')],
  ['a query as text', get('/x?a=1&a=2&b=%zz&&=?;//\\"')],
  ['an empty query', get('/x?')],
  ['a fragment', get('/x?y#z')],
  ['a listening stream', get('/mcp', 'Accept: text/event-stream\r\nLast-Event-ID: 7\r\n')],
  ['GET with a body', 'GET /x HTTP/1.1\r\nHost: HOST\r\nContent-Length: 3\r\n\r\nabc'],
  ['GET with no bytes of body', 'GET /x HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n'],
  ['DELETE', 'DELETE /mcp HTTP/1.1\r\nHost: HOST\r\nMcp-Session-Id: abc\r\n\r\n'],
  ['OPTIONS', 'OPTIONS /mcp HTTP/1.1\r\nHost: HOST\r\nX-A: 1\r\n\r\n'],
  ['QUERY without a type', 'QUERY /x HTTP/1.1\r\nHost: HOST\r\nContent-Length: 1\r\n\r\nq'],
  ['PROPFIND', 'PROPFIND /x HTTP/1.1\r\nHost: HOST\r\nDepth: 1\r\nContent-Length: 0\r\n\r\n'],
  ['PATCH', 'PATCH /x HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\n\r\n[]'],
  ['an accept-version', get('/', 'Accept-Version: 1.x\r\n')],
]

const answers: readonly (readonly [name: string, answer: string])[] = [
  [
    'headers in their case and order',
    `HTTP/1.1 200 Sure thing\r\nzEd: 1\r\nSet-Cookie: a=1\r\nX: 2\r\nSet-Cookie: b\r\nContent-Length: 0\r\n\r\n`,
  ],
  ['no content', 'HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n'],
  ['accepted', 'HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n'],
  ['not modified', 'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n'],
  [
    'a redirect',
    'HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/else\r\nContent-Length: 0\r\n\r\n',
  ],
  [
    'a 401 of its own',
    'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer resource_metadata="http://a/b"\r\nWWW-Authenticate: Basic\r\nContent-Length: 1\r\n\r\nn',
  ],
  ['a 404', 'HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nnope'],
  ['a 500', 'HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n'],
  ['a 503 with its own wait', 'HTTP/1.1 503 Busy\r\nRetry-After: 9\r\nContent-Length: 0\r\n\r\n'],
  ['an odd status', 'HTTP/1.1 799 \xc3\xa4\r\nContent-Length: 0\r\n\r\n'],
  ['no reason', 'HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n'],
  ['chunks', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks('hello ', 'world')}`],
  [
    'chunks with trailers',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 9\r\nx-sum: 8\r\n\r\n',
  ],
  [
    'events',
    `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nMcp-Session-Id: s\r\nTransfer-Encoding: chunked\r\n\r\n${chunks('event: message\ndata: {}\n\n', ': ping\n\n')}`,
  ],
  ['a body that ends with its connection', 'HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\nuntil the end'],
  ['a large body of known length', `HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n${'z'.repeat(200_000)}`],
  ['compressed bytes', 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x00'],
  [
    'bytes beyond ASCII, of a body in chunks',
    'HTTP/1.1 200 OK\r\nX-Name: \xe4\xff\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n\xe4\xff\r\n0\r\n\r\n',
  ],
  ['bytes beyond ASCII', 'HTTP/1.1 200 OK\r\nX-Name: \xe4\xff\r\nContent-Length: 2\r\n\r\n\xe4\xff'],
  [
    'its own date and server',
    'HTTP/1.1 200 OK\r\nDate: yesterday\r\nServer: mine\r\nVia: 1.1 a\r\nContent-Length: 0\r\n\r\n',
  ],
  [
    'a header that Connection names',
    'HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nX-End: 2\r\nContent-Length: 0\r\n\r\n',
  ],
  [
    'early hints first',
    'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx',
  ],
]

const askers: readonly (readonly [name: string, request: string])[] = [
  ['a call', post(JSON_TYPE, CALL)],
  ['a chunked call', chunkedPost(JSON_TYPE, chunks(CALL))],
  ['GET', get('/mcp')],
]

/** Each request once, and each response with every transport. */
export const corpus: readonly Case[] = [
  ...requests.map(([name, request]) => ({ name, request, answer: OK })),
  ...answers.flatMap(([name, answer]) =>
    askers.map(([asker, request]) => ({ name: `${name}, to ${asker}`, request, answer })),
  ),
  {
    name: 'HEAD',
    request: 'HEAD /x HTTP/1.1\r\nHost: HOST\r\n\r\n',
    answer: 'HTTP/1.1 200 OK\r\nContent-Length: 12345\r\nX-A: 1\r\n\r\n',
  },
]
