/** One thing that the proxy does not hand on as it came. The corpus holds the table, and the README prints it. */
export interface Difference {
  readonly side: 'request' | 'answer'
  /** The headers it is about, in lower case; a `*` at the end stands for any rest. */
  readonly headers: readonly string[]
  readonly what: string
  readonly why: string
}

export const allowedDifferences: readonly Difference[] = [
  {
    side: 'request',
    headers: ['host'],
    what: "`Host` is the target's, and may stand first",
    why: 'the caller knows the proxy by its name, the target knows itself by its own',
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
    what: 'these, and what `Connection` names, are written anew; `Upgrade` passes for a WebSocket',
    why: 'they speak of one connection, and there are two (RFC 9110, 7.6.1)',
  },
  {
    side: 'request',
    headers: ['content-length'],
    what: '`Content-Length` may stand last, and a POST, PUT or PATCH without a body gets one of 0',
    why: 'a body that is there as a whole is written by a faster way',
  },
  {
    side: 'request',
    headers: ['forwarded', 'x-forwarded-*'],
    what: "the caller's are dropped; `--forwarded-headers` sends the proxy's own",
    why: 'what a caller says of the way it came is not evidence',
  },
  {
    side: 'request',
    headers: ['proxy-authorization'],
    what: 'dropped',
    why: 'it is between the caller and a proxy',
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
    side: 'answer',
    headers: ['connection', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade'],
    what: 'these, and what `Connection` names, are written anew; chunks may be cut elsewhere',
    why: 'they speak of one connection, and there are two',
  },
  {
    side: 'request',
    headers: [],
    what: 'a request target with bytes beyond ASCII, or one that is `*`, is refused with 400',
    why: 'such bytes are no HTTP, and `*` asks about the server, which is the proxy',
  },
  {
    side: 'answer',
    headers: [],
    what: 'a reason phrase that is not UTF-8 has its bad bytes replaced',
    why: 'the reader of the faster way takes it for UTF-8; nothing may be derived from a reason',
  },
  {
    side: 'answer',
    headers: [],
    what: 'informational answers other than `100 Continue` and `101 Switching Protocols` are not passed on',
    why: 'few clients understand them, and no MCP server sends them',
  },
  {
    side: 'answer',
    headers: ['www-authenticate'],
    what: 'dropped from a 403 that answers a credential of the proxy; a 401 becomes a 502',
    why: "the challenge is the proxy's to meet",
  },
  {
    side: 'answer',
    headers: ['access-control-*', 'vary'],
    what: 'added for allowed origins where the target sends none',
    why: 'a page in a browser could not read the answer otherwise',
  },
]
