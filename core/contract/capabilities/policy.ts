import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'
import type { Identity } from '../identity.js'
import type { McpCall, McpSubject } from '../message.js'
import type { Finding } from './authenticator.js'

/** Who asks. */
export interface PolicyCaller {
  /** `undefined` on a public path, and for a request that needs no credentials. */
  readonly identity: Identity | undefined
  readonly request: FastifyRequest
}

export interface PolicyQuestion extends PolicyCaller {
  readonly call: McpCall
  /** What the call names, one at a time; `undefined` for a call that names nothing. */
  readonly subject: McpSubject | undefined
}

/** Something in a list that callers get: a tool, a prompt, a resource, or a template of resources by its `uriTemplate`. */
export interface ListedSubject {
  readonly kind: McpSubject['kind'] | 'template'
  readonly name: string
  /** The whole item, as the server has written it into its list; it is parsed when it is read, and nothing in it was checked. */
  readonly definition?: Readonly<Record<string, unknown>>
}

export type Judgement = Allowed | Denial

export interface Allowed {
  readonly allowed: true
}

export interface Denial {
  readonly allowed: false
  /** One sentence for the caller. It tells nothing of other callers. */
  readonly reason: string
  /** The rule that decides, for the log and `sallyport explain`, as its operator would look for it. */
  readonly rule?: string
  /** All scopes that the call needs, when nothing but a scope is missing: the caller is told to get them. */
  readonly scopes?: readonly string[]
}

/**
 * Decides what a caller may do. It is asked after authentication and the limits of requests, for each call of a body and each thing
 * that it names; every policy has to allow it. Nothing of a body reaches the target before all of it is allowed. When a
 * policy throws, answers something else, or its promise does not settle in time, the request is refused.
 */
export interface Policy {
  judge(question: PolicyQuestion): Judgement | Promise<Judgement>
  /**
   * Which of these the caller may see, in the same order: those that `judge` would allow it to use, and those for which
   * nothing but a scope is missing. It gets the parts of a long list one after the other.
   */
  shows(
    caller: PolicyCaller,
    listed: readonly ListedSubject[],
  ): readonly boolean[] | Promise<readonly boolean[]>
  /** What `judge` looks at, rule by rule, for `sallyport explain`. */
  explain?(question: PolicyQuestion): readonly Finding[] | Promise<readonly Finding[]>
}

export const Policy = many<Policy>('policy')
