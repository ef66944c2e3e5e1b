import { UpstreamError } from '../contract/errors.js'

type Failure = readonly [code: string, sentence: string]

const untrusted: Failure = [
  'EGRESS_TLS',
  'its certificate comes from an authority that is not trusted here; caCertPath may be missing or name another one',
]
const reset: Failure = ['EGRESS_RESET', 'the connection was closed before the response was complete']
const silent: Failure = ['EGRESS_TIMEOUT', 'it did not answer in time']
const unroutable: Failure = ['EGRESS_UNREACHABLE', 'there is no route to it']
const malformed: Failure = ['EGRESS_MALFORMED', 'the response is not valid HTTP']
const unknown: Failure = ['EGRESS_FAILED', 'the request failed']

const byCode: Readonly<Record<string, Failure>> = {
  EGRESS_PRIVATE_ADDRESS: ['EGRESS_PRIVATE_ADDRESS', 'its address is private, which needs allowPrivateIP'],
  EGRESS_TOO_LARGE: ['EGRESS_TOO_LARGE', 'the response is larger than allowed'],
  EGRESS_CLOSED: ['EGRESS_CLOSED', 'the gateway is stopping'],
  EGRESS_TIMEOUT: silent,

  ENOTFOUND: ['EGRESS_DNS', 'its name does not resolve'],
  ENODATA: ['EGRESS_DNS', 'its name has no address'],
  EAI_AGAIN: ['EGRESS_DNS', 'the name server does not answer'],
  EAI_FAIL: ['EGRESS_DNS', 'the name server failed'],

  ECONNREFUSED: ['EGRESS_REFUSED', 'nothing listens there'],
  ECONNRESET: reset,
  EPIPE: reset,
  UND_ERR_SOCKET: reset,
  ETIMEDOUT: silent,
  UND_ERR_CONNECT_TIMEOUT: silent,
  UND_ERR_HEADERS_TIMEOUT: silent,
  UND_ERR_BODY_TIMEOUT: silent,
  EHOSTUNREACH: unroutable,
  ENETUNREACH: unroutable,
  EADDRNOTAVAIL: unroutable,

  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  CERT_SIGNATURE_FAILURE: untrusted,
  CERT_UNTRUSTED: untrusted,
  CERT_HAS_EXPIRED: ['EGRESS_TLS', 'its certificate has expired'],
  CERT_NOT_YET_VALID: ['EGRESS_TLS', 'its certificate is not valid yet; the clock of one side may be wrong'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['EGRESS_TLS', 'its certificate is for another host name'],
  EPROTO: [
    'EGRESS_TLS',
    'no TLS session was agreed on; it may not speak https, or want a client certificate',
  ],

  UND_ERR_HEADERS_OVERFLOW: ['EGRESS_TOO_LARGE', 'its headers are larger than allowed'],
  UND_ERR_DESTROYED: ['EGRESS_CLOSED', 'the gateway is stopping'],
  UND_ERR_CLOSED: ['EGRESS_CLOSED', 'the gateway is stopping'],
  EGRESS_PROXY: ['EGRESS_PROXY', 'the proxy opened no tunnel to it'],
  EGRESS_PROXY_TIMEOUT: ['EGRESS_PROXY_TIMEOUT', 'the proxy did not answer in time'],
}

// The alerts with which a server refuses a client without a certificate that it accepts (RFC 8446, 6.2).
const wantsCertificate: Failure = [
  'EGRESS_CLIENT_CERTIFICATE',
  'it asks for a client certificate that it accepts, and got none',
]

const byPattern: readonly (readonly [RegExp, Failure])[] = [
  [
    /^ERR_SSL_(?:TLSV13_ALERT_CERTIFICATE_REQUIRED|(?:SSLV3|TLSV1)_ALERT_(?:BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|UNKNOWN_CA|NO_CERTIFICATE)(?:_.*)?)$/,
    wantsCertificate,
  ],
  [
    /^(?:ERR_SSL_|ERR_TLS_|CERT_|CRL_)/,
    ['EGRESS_TLS', 'no TLS session could be agreed on; it may not speak https'],
  ],
  [/^(?:HPE_|UND_ERR_RES(?:PONSE|_CONTENT)|Z_|ERR__ERROR_FORMAT|ERR_BROTLI|ERR_PADDING)/, malformed],
]

/** The error that code below `fetch` throws: only a code, because only `fetch` knows the origin. */
export function errorWithCode(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code })
}

/** The error for a request to `origin`. Its code names what an operator can do about it. */
export function egressFailure(origin: string, cause: unknown): UpstreamError {
  const root = rootCause(cause)
  const [code, sentence] = classify(root)
  const statusCode = code.endsWith('_TIMEOUT') ? 504 : 502
  const message = `request to ${origin} failed: ${sentence}`

  // The message of an error without a code may quote a header, a URL, or bytes of the response.
  if (codeOf(root) === undefined) return new UpstreamError(code, message, { statusCode })
  return new UpstreamError(code, message, { statusCode, cause: root })
}

/** The class of a failed request, such as `EGRESS_DNS`; it holds no address. */
export function failureCode(error: unknown): string {
  return classify(rootCause(error))[0]
}

/** The failure as a sentence whose subject is the server. */
export function failureSentence(error: unknown): string {
  return classify(rootCause(error))[1]
}

function classify(error: unknown): Failure {
  const code = codeOf(error) ?? ''
  // undici leaves out the code of most parser errors; Node's own have `HPE_`.
  if (error instanceof Error && error.name === 'HTTPParserError') return malformed
  return byCode[code] ?? byPattern.find(([pattern]) => pattern.test(code))?.[1] ?? unknown
}

function rootCause(error: unknown): unknown {
  let root = error
  for (let depth = 0; depth < 8; depth++) {
    const deeper =
      root instanceof AggregateError ? root.errors[0] : root instanceof Error ? root.cause : undefined
    if (deeper === undefined || deeper === null) return root
    root = deeper
  }
  return root
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
