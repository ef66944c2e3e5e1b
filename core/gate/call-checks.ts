import { setImmediate } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import type { Denial, Judgement, Policy, PolicyQuestion } from '../contract/capabilities/policy.js'
import { Refusal, type RefusalReason } from '../contract/errors.js'
import type { McpMessage } from '../contract/message.js'
import { hasBody } from '../http/body.js'
import { isUpgrade } from '../http/upgrades.js'
import { couldBeBatch } from '../mcp/batch-start.js'
import { longestMessage, messageOf } from '../mcp/message.js'
import { isPromise, within } from '../toolkit/deadline.js'
import { isScope } from '../toolkit/scope.js'
import type { RequestLimit } from './limit.js'

/** The second half of a scope's gate: judges and counts the calls of authenticated requests to an MCP server. */
export class CallChecks {
  constructor(
    private readonly policies: readonly Policy[],
    private readonly limit: RequestLimit | undefined,
    /** Milliseconds that the policies may take for one request. */
    private readonly deadline: number,
    /** Whether only batches are parsed: a limit then counts their calls, and any other body as one. */
    private readonly onlyBatches: boolean,
  ) {}

  /** Throws or rejects with the refusal. */
  admit(request: FastifyRequest): Promise<void> | undefined {
    if (request.method !== 'POST' || isUpgrade(request.raw)) {
      if (this.policies.length > 0) refuseUnlessCallFree(request)
      return undefined
    }
    if (!this.onlyBatches) return this.admitPost(request)
    const isRead = couldBeBatch(request, longestMessage(request))
    if (isPromise(isRead)) return isRead.then((read) => (read ? this.admitPost(request) : undefined))
    return isRead ? this.admitPost(request) : undefined
  }

  private admitPost(request: FastifyRequest): Promise<void> | undefined {
    const message = messageOf(request)
    return isPromise(message)
      ? message.then((read) => this.admitMessage(request, read))
      : this.admitMessage(request, message)
  }

  /** Policies first: a denied call does not count, so no caller uses up the limits of tools that it may not call. */
  private admitMessage(request: FastifyRequest, message: McpMessage): Promise<void> | undefined {
    const judging = this.policies.length === 0 ? undefined : this.judgeAll(request, message)
    return judging === undefined
      ? this.limit?.applyToCalls(request, message)
      : judging.then(() => this.limit?.applyToCalls(request, message))
  }

  private judgeAll(request: FastifyRequest, message: McpMessage): Promise<void> | undefined {
    const denials: Denial[] = []
    const settle = (): void => {
      if (denials.length > 0) throw refusalFor(denials)
    }
    let waiting: Promise<void> | undefined
    try {
      waiting = this.judge(questionsOf(request, message), denials)
    } catch (error) {
      throw unavailable(error)
    }
    if (waiting === undefined) {
      settle()
      return undefined
    }
    return within(this.deadline, waiting, () => late(this.deadline)).then(settle, (error: unknown) => {
      throw unavailable(error)
    })
  }

  /** Asks every policy each question, in order, until one denies a call that no further scope would allow. */
  private judge(questions: readonly PolicyQuestion[], denials: Denial[]): Promise<void> | undefined {
    const steps = questions.length * this.policies.length
    const began = steps > 1 ? performance.now() : 0
    for (let step = 0; step < steps; step++) {
      const judgement = this.ask(questions, step)
      if (isPromise(judgement)) return this.judgeLater(questions, denials, step, judgement)
      if (isFinal(judgement, denials)) return undefined
      if (steps > 1 && performance.now() - began > MAX_SLICE)
        return this.judgeLater(questions, denials, step + 1)
    }
    return undefined
  }

  /** Lets other requests run after each slice, and stops at the deadline also when no policy returns a promise. */
  private async judgeLater(
    questions: readonly PolicyQuestion[],
    denials: Denial[],
    from: number,
    first?: PromiseLike<Judgement>,
  ): Promise<void> {
    const end = performance.now() + this.deadline
    let began = first === undefined ? Number.NEGATIVE_INFINITY : performance.now()
    let pending: Judgement | PromiseLike<Judgement> | undefined = first
    for (let step = from; step < questions.length * this.policies.length; step++) {
      if (performance.now() - began > MAX_SLICE) {
        await setImmediate()
        began = performance.now()
      }
      if (performance.now() > end) throw late(this.deadline)
      if (isFinal(await (pending ?? this.ask(questions, step)), denials)) return
      pending = undefined
    }
  }

  private ask(questions: readonly PolicyQuestion[], step: number): Judgement | PromiseLike<Judgement> {
    const { policies } = this
    const question = questions[Math.floor(step / policies.length)]
    const policy = policies[step % policies.length]
    if (question === undefined || policy === undefined) throw new RangeError(`there is no step ${step}`)
    return policy.judge(question)
  }
}

/** Milliseconds for which one request may block all others. */
const MAX_SLICE = 5

const unavailable = (cause: unknown): Refusal =>
  new Refusal(503, 'POLICY_UNAVAILABLE', 'the policies cannot decide about this call right now', {
    cause,
    retryAfter: 5,
  })

const late = (deadline: number): Error => new Error(`a policy did not answer within ${deadline / 1000} s`)

/** One question for each call, or for each subject that the call names. */
function questionsOf(request: FastifyRequest, { calls }: McpMessage): readonly PolicyQuestion[] {
  const { identity } = request
  const questions: PolicyQuestion[] = []
  for (const call of calls) {
    if (call.subjects.length === 0) questions.push({ identity, request, call, subject: undefined })
    for (const subject of call.subjects) questions.push({ identity, request, call, subject })
  }
  return questions
}

/**
 * Collects a denial, and returns whether no further scope could change it. Throws for anything that is no judgement.
 */
function isFinal(judgement: unknown, denials: Denial[]): boolean {
  const fields: Partial<Record<keyof Denial, unknown>> = Object(judgement)
  if (fields.allowed === true) return false
  const { allowed, reason, rule, scopes = [] } = fields
  const isDenial = allowed === false && typeof reason === 'string'
  if (!isDenial || (rule !== undefined && typeof rule !== 'string') || !areScopes(scopes))
    throw new TypeError('the answer of a policy is neither an allowance nor a denial')
  denials.push({ allowed, reason, scopes, ...(rule !== undefined && { rule }) })
  return scopes.length === 0
}

const areScopes = (scopes: unknown): scopes is readonly string[] =>
  Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string' && isScope(scope))

/** The challenge names scopes only when nothing but scopes is missing. */
function refusalFor(denials: readonly Denial[]): Refusal {
  const reasons = reasonsFor(denials)
  const final = denials.find(({ scopes = [] }) => scopes.length === 0)
  if (final !== undefined) return new Refusal(403, 'POLICY_DENIED', final.reason, { reasons })
  const scopes = new Set(denials.flatMap(({ scopes = [] }) => scopes))
  return new Refusal(403, 'INSUFFICIENT_SCOPE', denials[0]?.reason ?? '', {
    reasons,
    challenge: { error: 'insufficient_scope', scope: [...scopes].join(' ') },
  })
}

/** Each rule once: one rule may deny a thousand calls of a batch. */
function reasonsFor(denials: readonly Denial[]): readonly RefusalReason[] {
  const reasons = new Map<string, RefusalReason>()
  for (const { rule, scopes = [] } of denials) {
    const cause = scopes.length === 0 ? 'denied' : 'scope'
    reasons.set(`${cause} ${rule}`, {
      provider: 'policy',
      cause,
      ...(rule !== undefined && { detail: rule }),
    })
  }
  return [...reasons.values()]
}

// Without a body these methods call nothing: they read, end a session, or request the allowed methods.
const METHODS_WITHOUT_CALLS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE'])

function refuseUnlessCallFree({ method, raw }: FastifyRequest): void {
  if (isUpgrade(raw) || !METHODS_WITHOUT_CALLS.has(method)) throw cannotJudge()
  if (hasBody(raw))
    throw new Refusal(400, 'BODY_UNEXPECTED', `a ${method} to an MCP server must not have a body`)
}

const cannotJudge = (): Refusal =>
  new Refusal(
    403,
    'POLICY_CANNOT_JUDGE',
    'a policy applies here, and it can judge only a POST with a JSON-RPC message, not an upgrade or another method',
  )
