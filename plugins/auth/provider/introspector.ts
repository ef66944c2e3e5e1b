import {
  basicAuthorization,
  type Fetch,
  type HealthState,
  jsonObject,
  type Log,
  type Measure,
  type Rejection,
  type Secret,
} from 'sallyport'
import type { Claims } from './jwt.js'

export interface IntrospectorOptions {
  readonly provider: string
  readonly url: string
  readonly clientId: string | undefined
  readonly clientSecret: Secret | undefined
  readonly fetch: Fetch
  readonly log: Log
  readonly answers: Measure
}

interface Unsaid {
  readonly rejection: Rejection
  /** The provider has no opinion, so what is known otherwise stands. */
  readonly cannotSay: boolean
}

/** What a provider says of a token: its claims, or why there are none. */
export type Answer = { readonly claims: Claims } | Unsaid

const REST_AFTER_FAILURE = 1000
const LONGEST_REST = 30_000
// Opaque tokens are free to make up. Beyond this many, the provider would be flooded in our name.
const MOST_AT_ONCE = 256

/** Asks a provider about tokens (RFC 7662): each token once at a time, and after a failure nobody for a while. */
export class Introspector {
  private readonly asking = new Map<string, Promise<Answer>>()
  private failures = 0
  private restUntil = 0
  private trouble: string | undefined

  constructor(private readonly options: IntrospectorOptions) {}

  ask(token: string, hash: string): Answer | Promise<Answer> {
    const asked = this.asking.get(hash)
    if (asked !== undefined) return asked
    // A provider that is silent must cost its neighbours nothing: one request finds out, the others go on.
    if (Date.now() < this.restUntil) return withDetail(UNREACHABLE, this.trouble)
    if (this.asking.size >= MOST_AT_ONCE) return BUSY
    if (this.failures > 0) this.restUntil = Number.POSITIVE_INFINITY

    const asking = this.request(token).finally(() => this.asking.delete(hash))
    this.asking.set(hash, asking)
    return asking
  }

  health(): HealthState {
    return this.trouble === undefined ? { status: 'ok' } : { status: 'degraded', reason: this.trouble }
  }

  /** Why the provider cannot be asked right now. */
  get reason(): string | undefined {
    return this.trouble
  }

  private async request(token: string): Promise<Answer> {
    const { url, fetch } = this.options
    let response: Response
    try {
      response = await fetch(url, { method: 'POST', headers: this.headers(), body: this.form(token) })
    } catch (error) {
      const longest = Math.min(REST_AFTER_FAILURE * 2 ** this.failures++, LONGEST_REST)
      this.restUntil = Date.now() + longest * (0.5 + Math.random() / 2)
      return this.failed(UNREACHABLE, error instanceof Error ? error.message : String(error))
    }
    // It answers. Only silence asks for a rest: a token that makes it fail must not shut out all others.
    this.failures = 0
    this.restUntil = 0
    const { status } = response
    const { origin } = new URL(url)
    if (status >= 500 || status === 429)
      return this.failed(FAULTY, `introspection at ${origin} failed: status ${status}`)
    if (status === 200) return this.read(response, origin)

    const { error } = jsonObject(await response.text()) ?? {}
    if (error === 'unsupported_token_type') return this.said(UNSUPPORTED)
    return this.failed(
      REFUSED,
      `introspection at ${origin} was refused: status ${status}; clientId and its secret may be wrong`,
    )
  }

  private async read(response: Response, origin: string): Promise<Answer> {
    const isJson = /^application\/json\b/i.test(response.headers.get('content-type') ?? '')
    const claims = isJson ? jsonObject(await response.text()) : undefined
    if (claims === undefined)
      return this.failed(FAULTY, `introspection at ${origin} failed: the answer is not a JSON object`)
    // Not truthy: `"false"` is a string, and so is `"true"`.
    return this.said(claims['active'] === true ? { claims } : INACTIVE)
  }

  private said(answer: Answer): Answer {
    const { provider, log } = this.options
    if (this.trouble !== undefined) log.info({ provider }, 'the provider answers introspection again')
    this.trouble = undefined
    return this.counted(answer)
  }

  private failed(answer: Unsaid, reason: string): Answer {
    const { provider, log } = this.options
    if (reason !== this.trouble) log.warn({ provider, reason }, 'the provider cannot be asked about tokens')
    this.trouble = reason
    return this.counted(withDetail(answer, reason))
  }

  private counted(answer: Answer): Answer {
    const { provider, answers } = this.options
    answers(1, { provider, outcome: 'claims' in answer ? 'active' : answer.rejection.cause })
    return answer
  }

  private headers(): Record<string, string> {
    const { clientId, clientSecret } = this.options
    const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' }
    if (clientId === undefined || clientSecret === undefined) return headers
    return { ...headers, authorization: basicAuthorization(clientId, clientSecret.reveal()) }
  }

  private form(token: string): string {
    const { clientId, clientSecret } = this.options
    const form = new URLSearchParams({ token, token_type_hint: 'access_token' })
    if (clientId !== undefined && clientSecret === undefined) form.set('client_id', clientId)
    return form.toString()
  }
}

const unsaid = (kind: Rejection['kind'], cause: string, cannotSay: boolean): Unsaid => ({
  rejection: { kind, cause },
  cannotSay,
})

const withDetail = (answer: Unsaid, detail = ''): Unsaid => ({
  ...answer,
  rejection: { ...answer.rejection, detail },
})

const INACTIVE = unsaid('notMine', 'inactive', false)
const UNSUPPORTED = unsaid('notMine', 'introspection:unsupported', true)
const REFUSED = unsaid('invalid', 'introspection:refused', true)
const FAULTY = unsaid('unavailable', 'introspection:failed', true)
const UNREACHABLE = unsaid('unavailable', 'unreachable', true)
const BUSY = unsaid('unavailable', 'introspection:busy', true)
