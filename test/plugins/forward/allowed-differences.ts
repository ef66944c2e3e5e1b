/** One thing that the proxy changes. The corpus tests this table, and the README of `plugins/forward` has it. */
export interface Difference {
  readonly side: 'request' | 'response'
  /** The headers that change, in lower case; a `*` at the end stands for any rest. */
  readonly headers: readonly string[]
  readonly what: string
  readonly why: string
}

export const allowedDifferences: readonly Difference[] = [
  {
    side: 'request',
    headers: ['host'],
    what: "`Host` is the target's, and may come first",
    why: 'the caller uses the name of the proxy, the target expects its own',
  },
  {
    side: 'request',
    headers: [
      'connection',
      'keep-alive',
      'proxy-connection',
      'te',
      'transfer-encoding',
      'upgrade',
      'http2-settings',
    ],
    what: 'these, and the headers that `Connection` names, are rewritten; `Upgrade` passes for a WebSocket',
    why: 'they describe one connection, and there are two (RFC 9110, 7.6.1)',
  },
  {
    side: 'request',
    headers: ['content-length'],
    what: '`Content-Length` may come last, and a POST, PUT or PATCH without a body gets one of 0',
    why: 'the proxy sends a buffered body by a faster client',
  },
  {
    side: 'request',
    headers: ['forwarded', 'x-forwarded-*'],
    what: "the caller's are dropped; `--forwarded-headers` sends the proxy's own",
    why: 'a caller can write anything into them',
  },
  {
    side: 'request',
    headers: ['proxy-authorization'],
    what: 'dropped',
    why: 'it is for a proxy of the caller, not for the target',
  },
  {
    side: 'request',
    headers: ['authorization', 'cookie'],
    what: 'dropped when the proxy has checked a token, or sends its own credential',
    why: 'a token for the proxy is not for the target (T8)',
  },
  {
    side: 'request',
    headers: [],
    what: 'a trailer with the name of a dropped header is dropped, and so is one that frames a message',
    why: 'some servers read trailers as headers (RFC 9110, 6.5.1)',
  },
  {
    side: 'response',
    headers: ['connection', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade'],
    what: 'these, and the headers that `Connection` names, are rewritten; chunks may have other limits',
    why: 'they describe one connection, and there are two',
  },
  {
    side: 'request',
    headers: [],
    what: 'a request target with bytes beyond ASCII, or one that is `*`, is refused with 400; `OPTIONS *` gets a 204',
    why: 'HTTP does not allow such bytes, and `*` means the server, which is the proxy',
  },
  {
    side: 'request',
    headers: [],
    what: '`TRACE` is refused with 404',
    why: 'its response would show the caller the headers that the proxy adds, such as a credential (RFC 9110, 9.3.8)',
  },
  {
    side: 'response',
    headers: [],
    what: 'a 204 has no `Content-Length`',
    why: 'HTTP forbids it, and some clients would wait for a body (RFC 9110, 8.6)',
  },
  {
    side: 'response',
    headers: ['trailer'],
    what: 'dropped if the caller gets no chunks: from a response of known length or without a body, and for HTTP/1.0',
    why: 'only a body in chunks has trailers, and Node refuses to announce others',
  },
  {
    side: 'response',
    headers: [],
    what: 'a reason phrase that is not UTF-8 has its bad bytes replaced',
    why: 'the faster client reads it as UTF-8; clients should ignore reason phrases (RFC 9112, 4)',
  },
  {
    side: 'response',
    headers: [],
    what: 'informational responses other than `100 Continue` and `101 Switching Protocols` are not passed on',
    why: 'few clients understand them, and no MCP server sends them',
  },
  {
    side: 'response',
    headers: [],
    what: 'the data of an `endpoint` event, in an event stream that a GET without `Mcp-Session-Id` opened',
    why: 'a client of HTTP+SSE (2024-11-05) posts to this address, and has to reach it through the proxy',
  },
  {
    side: 'response',
    headers: [],
    what: "a `Location` at the target's origin and below its path becomes the path at the proxy, in a redirect and a 201",
    why: 'frameworks redirect to the same path with a slash, and the client would bypass the proxy',
  },
  {
    side: 'response',
    headers: ['www-authenticate'],
    what: 'dropped from a 403 to a credential of the proxy; a 401 becomes a 502',
    why: 'the challenge concerns the credential of the proxy',
  },
  {
    side: 'request',
    headers: ['cookie'],
    what: 'without the cookies of the gateway itself, whose names begin with `sallyport-`',
    why: 'the target could use the session of a person',
  },
  {
    side: 'response',
    headers: ['set-cookie'],
    what: 'dropped if it sets such a cookie',
    why: 'the target could sign a person in as somebody else',
  },
  {
    side: 'response',
    headers: ['set-cookie'],
    what: 'dropped from responses to a credential of the proxy, unless `forwardCookies` is set',
    why: 'the session belongs to the credential, and no caller could send it through the proxy',
  },
  {
    side: 'response',
    headers: ['access-control-*', 'vary'],
    what: 'added for allowed origins if the target sends none; `vary` is added to its own',
    why: 'otherwise a page in a browser could not read the response',
  },
  {
    side: 'request',
    headers: [],
    what: 'where the scope has policies, `Accept-Encoding` is `identity`, and `Range`, `If-Range`, `If-None-Match`, `If-Modified-Since` and `A-IM` are dropped',
    why: 'the proxy can filter lists only in a whole response without a coding; any other becomes a 502',
  },
  {
    side: 'response',
    headers: [],
    what: 'where the scope has policies, lists of tools, prompts, resources, resource templates and skills lack the items that the policies hide, and items without a name; all other bytes stay',
    why: 'a caller sees only the items that it may use',
  },
  {
    side: 'response',
    headers: [],
    what: 'where a list was filtered, and in every event stream of a scope with policies, `Content-Length` is the new one or missing, and `ETag`, `Last-Modified`, `Accept-Ranges`, `Content-MD5`, `Digest`, `Repr-Digest` and `Content-Digest` are dropped',
    why: 'they describe the bytes that the target sent',
  },
  {
    side: 'response',
    headers: ['cache-control', 'cdn-cache-control', 'surrogate-control'],
    what: 'where the scope has policies, `Cache-Control` is `private` in every event stream and in JSON that could be a list, without `public` and `s-maxage`; where the body changes, `CDN-Cache-Control` and `Surrogate-Control` are dropped',
    why: 'a shared cache would show one caller the list of another',
  },
  {
    side: 'response',
    headers: [],
    what: 'where the scope has policies, `cacheScope` of a result is `private` instead of `public`',
    why: 'a client with several users would show one user the list of another',
  },
  {
    side: 'request',
    headers: [],
    what: 'where the list has a tracer, `traceparent` and `tracestate` are those of its trace; if the tracer says so, also in `_meta` of each call, with a new `Content-Length`',
    why: "the target's spans belong below the gateway's",
  },
  {
    side: 'request',
    headers: [],
    what: 'the next request of a connection waits until the last response was sent, however many arrive at once',
    why: 'otherwise the gateway would hold responses for a client that does not read them',
  },
  {
    side: 'response',
    headers: [],
    what: 'when clients leave more than 64 MiB of the responses of a port unread, connections end, first those whose clients have read nothing for longest',
    why: 'otherwise clients that do not read would use up the memory for all',
  },
]
