/** One thing that the proxy changes. The corpus tests this table, and the README of `plugins/forward` has it. */
export interface Difference {
  readonly side: 'request' | 'response'
  /** The headers it is about, in lower case; a `*` at the end stands for any rest. */
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
    what: 'these, and what `Connection` names, are rewritten; `Upgrade` passes for a WebSocket',
    why: 'they are about one connection, and there are two (RFC 9110, 7.6.1)',
  },
  {
    side: 'request',
    headers: ['content-length'],
    what: '`Content-Length` may come last, and a POST, PUT or PATCH without a body gets one of 0',
    why: 'a buffered body is sent by a faster client',
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
    what: 'dropped when the proxy checked a token or sends a credential of its own',
    why: 'a token for the proxy is not for the target (T8)',
  },
  {
    side: 'request',
    headers: [],
    what: 'a trailer by the name of a header that is dropped is dropped too, and one that frames a message',
    why: 'some servers read trailers as headers (RFC 9110, 6.5.1)',
  },
  {
    side: 'response',
    headers: ['connection', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade'],
    what: 'these, and what `Connection` names, are rewritten; chunks may be cut elsewhere',
    why: 'they are about one connection, and there are two',
  },
  {
    side: 'request',
    headers: [],
    what: 'a request target with bytes beyond ASCII, or one that is `*`, is refused with 400; `OPTIONS *` is answered with 204',
    why: 'such bytes are no HTTP, and `*` asks about the server, which is the proxy',
  },
  {
    side: 'request',
    headers: [],
    what: '`TRACE` is refused with 404',
    why: 'its answer would show the caller what the proxy adds, a credential too (RFC 9110, 9.3.8)',
  },
  {
    side: 'response',
    headers: [],
    what: 'a 204 has no `Content-Length`',
    why: 'it must not have one, and some would wait for a body (RFC 9110, 8.6)',
  },
  {
    side: 'response',
    headers: ['trailer'],
    what: 'dropped where the caller gets no chunks: from a response of known length or without a body, and for HTTP/1.0',
    why: 'trailers follow a body in chunks alone, and Node refuses to announce others',
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
    why: 'a client of HTTP+SSE (2024-11-05) posts there, and has to reach it through the proxy',
  },
  {
    side: 'response',
    headers: [],
    what: "a `Location` at the target's own origin and below its path is the path here, in a redirect and a 201",
    why: 'frameworks redirect to the same path with a slash, and the client would go past the proxy',
  },
  {
    side: 'response',
    headers: ['www-authenticate'],
    what: 'dropped from a 403 to a credential of the proxy; a 401 becomes a 502',
    why: 'the challenge is about the credential of the proxy',
  },
  {
    side: 'request',
    headers: ['cookie'],
    what: 'lacks the cookies of the gateway itself, whose names begin with `sallyport-`',
    why: 'the target could use the session of a person',
  },
  {
    side: 'response',
    headers: ['set-cookie'],
    what: 'dropped where it sets such a cookie',
    why: 'the target could sign a person in as somebody else',
  },
  {
    side: 'response',
    headers: ['set-cookie'],
    what: 'dropped from responses to a credential of the proxy, unless `forwardCookies` is set',
    why: 'the session is that of the credential, and no caller could send it through the proxy',
  },
  {
    side: 'response',
    headers: ['access-control-*', 'vary'],
    what: 'added for allowed origins where the target sends none, `vary` beside its own',
    why: 'a page in a browser could not read the answer otherwise',
  },
  {
    side: 'request',
    headers: [],
    what: 'where the scope has policies, `Accept-Encoding` is `identity`, and `Range`, `If-Range`, `If-None-Match`, `If-Modified-Since` and `A-IM` are dropped',
    why: 'lists can only be filtered in a response that is whole and in no coding; any other is a 502',
  },
  {
    side: 'response',
    headers: [],
    what: 'where the scope has policies, lists of tools, prompts, resources, resource templates and skills lack what they do not show, and items without a name; all other bytes stay',
    why: 'a caller sees what it may use',
  },
  {
    side: 'response',
    headers: [],
    what: 'where a list was filtered, and in every event stream of a scope with policies, `Content-Length` is the new one or missing, and `ETag`, `Last-Modified`, `Accept-Ranges`, `Content-MD5`, `Digest`, `Repr-Digest` and `Content-Digest` are dropped',
    why: 'they describe the bytes as the target sent them',
  },
  {
    side: 'response',
    headers: ['cache-control', 'cdn-cache-control', 'surrogate-control'],
    what: 'where the scope has policies, `Cache-Control` is `private` in every event stream and in JSON that could be a list, without `public` and `s-maxage`; where the body changes, `CDN-Cache-Control` and `Surrogate-Control` are dropped',
    why: 'a shared cache would show one caller what another may see',
  },
  {
    side: 'response',
    headers: [],
    what: 'where the scope has policies, `cacheScope` of a result is `private` in place of `public`',
    why: 'a cache of a client with several users would show one what another may see',
  },
  {
    side: 'request',
    headers: [],
    what: 'where the list has a tracer, `traceparent` and `tracestate` are those of its trace; where the tracer wants it, so are those in `_meta` of each call, and `Content-Length` is the new one',
    why: "the target's part of a trace belongs below that of the gateway",
  },
  {
    side: 'request',
    headers: [],
    what: 'the next request of a connection goes on when the response before it is out, however many come at once',
    why: 'responses that wait for each other would be held for a client that need not read them',
  },
  {
    side: 'response',
    headers: [],
    what: 'where more than 64 MiB of all responses of a port wait for their clients, those connections end first whose clients have read nothing for longest',
    why: 'clients that do not read would take the memory of all others',
  },
]
