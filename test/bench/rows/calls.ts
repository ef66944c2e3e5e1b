import type { Algorithm } from '../context.js'
import type { Task } from '../task.js'

/** Calls of one kind, and the work of the proxy for them. */
export interface CallRow {
  readonly key: string
  readonly title: string
  readonly incoming?: { readonly kind: 'jwt' | 'introspection'; readonly algorithm: Algorithm }
  /** Every call has a new token. */
  readonly newTokens?: boolean
  /** Callers connect over https. */
  readonly tls?: boolean
  readonly out: Pick<Task, 'bearer' | 'headers' | 'exchange'>
  /** Bytes of the request's body and of the answer's. */
  readonly size: number
}

const OUT = { bearer: 'bench', headers: { 'X-A': '1', 'X-B': '2' } }
const NOTHING = { headers: {} }
const SMALL = 200

const jwt = (algorithm: Algorithm) => ({ kind: 'jwt', algorithm }) as const

export const callRows: readonly CallRow[] = [
  { key: 'open', title: 'no authentication, nothing added', out: NOTHING, size: SMALL },
  { key: 'headers', title: 'no authentication, a bearer and two headers out', out: OUT, size: SMALL },
  {
    key: 'rs256',
    title: 'RS256 in, a bearer and two headers out',
    incoming: jwt('RS256'),
    out: OUT,
    size: SMALL,
  },
  {
    key: 'rs256-new',
    title: 'the same, every token new',
    incoming: jwt('RS256'),
    newTokens: true,
    out: OUT,
    size: SMALL,
  },
  {
    key: 'es256',
    title: 'ES256 in, a bearer and two headers out',
    incoming: jwt('ES256'),
    out: OUT,
    size: SMALL,
  },
  {
    key: 'es256-new',
    title: 'the same, every token new',
    incoming: jwt('ES256'),
    newTokens: true,
    out: OUT,
    size: SMALL,
  },
  {
    key: 'introspection',
    title: 'introspection in (remembered), a bearer and two headers out',
    incoming: { kind: 'introspection', algorithm: 'RS256' },
    out: OUT,
    size: SMALL,
  },
  {
    key: 'exchange',
    title: 'RS256 in, an exchanged token (remembered) out',
    incoming: jwt('RS256'),
    out: { ...NOTHING, exchange: true },
    size: SMALL,
  },
  {
    key: '64k',
    title: 'RS256 in, a bearer and two headers out, 64 KB both ways',
    incoming: jwt('RS256'),
    out: OUT,
    size: 64 * 1024,
  },
  {
    key: 'tls-headers',
    title: 'over TLS: no authentication, a bearer and two headers out',
    tls: true,
    out: OUT,
    size: SMALL,
  },
  {
    key: 'tls-rs256',
    title: 'over TLS: RS256 in, a bearer and two headers out',
    tls: true,
    incoming: jwt('RS256'),
    out: OUT,
    size: SMALL,
  },
]
