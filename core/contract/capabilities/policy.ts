import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'
import type { Identity } from '../identity.js'
import type { McpCall, McpSubject } from '../message.js'
import type { Finding } from './authenticator.js'

/** The caller that a policy judges. */
export interface PolicyCaller {
  /** `undefined` on a public path, and for a request that needs no credentials. */
  readonly identity: Identity | undefined
  readonly request: FastifyRequest
}

export interface PolicyQuestion extends PolicyCaller {
  readonly call: McpCall
  /** One of the subjects that the call names; `undefined` for a call that names none. */
  readonly subject: McpSubject | undefined
}

/**
 * Something in a list that callers get: a tool, a prompt, a resource, or a template of resources by its
 * `uriTemplate`.
 */
export interface ListedSubject {
  readonly kind: McpSubject['kind'] | 'template'
  readonly name: string
  /**
   * The whole item, as the server wrote it into its list. It is parsed when it is read, and the gateway has checked
   * nothing in it.
   */
  readonly definition?: Readonly<Record<string, unknown>>
}

export type Judgement = Allowed | Denial

export interface Allowed {
  readonly allowed: true
}

export interface Denial {
  readonly allowed: false
  /** One sentence for the caller. It says nothing about other callers. */
  readonly reason: string
  /** The rule that decides, for the log and `sallyport explain`, under the name by which its operator finds it. */
  readonly rule?: string
  /** All scopes that the call needs, when nothing but a scope is missing: the response names them for the caller. */
  readonly scopes?: readonly string[]
}

/**
 * Decides what a caller may do. The gate calls it after authentication and request limits, for each call of a body
 * and each subject of that call; every policy has to allow it. No part of a body reaches the target before all of it
 * is allowed. When a policy throws, returns something else, or its promise does not settle in time, the gate refuses
 * the request.
 */
export interface Policy {
  judge(question: PolicyQuestion): Judgement | Promise<Judgement>
  /**
   * Whether the caller may see each of these items, in the same order: `true` for items that `judge` would allow,
   * and for items for which nothing but a scope is missing. The gateway passes the parts of a long list one after
   * the other.
   */
  shows(
    caller: PolicyCaller,
    listed: readonly ListedSubject[],
  ): readonly boolean[] | Promise<readonly boolean[]>
  /** The checks of `judge`, rule by rule, for `sallyport explain`. */
  explain?(question: PolicyQuestion): readonly Finding[] | Promise<readonly Finding[]>
}

export const Policy = many<Policy>('policy')
