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

/** Judges and counts what requests to an MCP server call, once they were let in: the second half of a scope's gate. */
export class CallChecks {
  constructor(
    private readonly policies: readonly Policy[],
    private readonly limit: RequestLimit | undefined,
    /** Milliseconds that the policies may take for one request. */
    private readonly deadline: number,
    /** Only batches are read: a limit counts their calls, and of nothing else what it calls. */
    private readonly batchesAlone: boolean,
  ) {}

  /** Throws or rejects with the refusal. */
  admit(request: FastifyRequest): Promise<void> | undefined {
    if (request.method !== 'POST' || isUpgrade(request.raw)) {
      if (this.policies.length > 0) refuseUnlessReading(request)
      return undefined
    }
    if (!this.batchesAlone) return this.admitPost(request)
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

  /** What is denied counts for nothing: nobody could use up the limits of tools that it may not call. */
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

  /** Asks every policy about each question in turn, until one denies what no scope would allow. */
  private judge(questions: readonly PolicyQuestion[], denials: Denial[]): Promise<void> | undefined {
    const turns = questions.length * this.policies.length
    const began = turns > 1 ? performance.now() : 0
    for (let turn = 0; turn < turns; turn++) {
      const judgement = this.ask(questions, turn)
      if (isPromise(judgement)) return this.judgeLater(questions, denials, turn, judgement)
      if (isFinal(judgement, denials)) return undefined
      if (turns > 1 && performance.now() - began > LONGEST_SLICE)
        return this.judgeLater(questions, denials, turn + 1)
    }
    return undefined
  }

  /** Lets other requests go on after each slice, and ends at the deadline also where no policy waits for anything. */
  private async judgeLater(
    questions: readonly PolicyQuestion[],
    denials: Denial[],
    from: number,
    first?: PromiseLike<Judgement>,
  ): Promise<void> {
    const end = performance.now() + this.deadline
    let began = first === undefined ? Number.NEGATIVE_INFINITY : performance.now()
    let pending: Judgement | PromiseLike<Judgement> | undefined = first
    for (let turn = from; turn < questions.length * this.policies.length; turn++) {
      if (performance.now() - began > LONGEST_SLICE) {
        await setImmediate()
        began = performance.now()
      }
      if (performance.now() > end) throw late(this.deadline)
      if (isFinal(await (pending ?? this.ask(questions, turn)), denials)) return
      pending = undefined
    }
  }

  private ask(questions: readonly PolicyQuestion[], turn: number): Judgement | PromiseLike<Judgement> {
    const { policies } = this
    const question = questions[Math.floor(turn / policies.length)]
    const policy = policies[turn % policies.length]
    if (question === undefined || policy === undefined) throw new RangeError(`there is no turn ${turn}`)
    return policy.judge(question)
  }
}

/** Milliseconds for which one request may hold all others. */
const LONGEST_SLICE = 5

const unavailable = (cause: unknown): Refusal =>
  new Refusal(503, 'POLICY_UNAVAILABLE', 'what this may call cannot be judged right now', {
    cause,
    retryAfter: 5,
  })

const late = (deadline: number): Error => new Error(`a policy did not answer within ${deadline / 1000} s`)

/** One for each call, or for each thing that it names. */
function questionsOf(request: FastifyRequest, { calls }: McpMessage): readonly PolicyQuestion[] {
  const { identity } = request
  const questions: PolicyQuestion[] = []
  for (const call of calls) {
    if (call.subjects.length === 0) questions.push({ identity, request, call, subject: undefined })
    for (const subject of call.subjects) questions.push({ identity, request, call, subject })
  }
  return questions
}

/** Notes a denial, and tells whether it is one whatever others say. Anything that is no judgement is a fault. */
function isFinal(judgement: unknown, denials: Denial[]): boolean {
  const given: Partial<Record<keyof Denial, unknown>> = Object(judgement)
  if (given.allowed === true) return false
  const { allowed, reason, rule, scopes = [] } = given
  const isDenial = allowed === false && typeof reason === 'string'
  if (!isDenial || (rule !== undefined && typeof rule !== 'string') || !areScopes(scopes))
    throw new TypeError('what a policy answers is neither an allowance nor a denial')
  denials.push({ allowed, reason, scopes, ...(rule !== undefined && { rule }) })
  return scopes.length === 0
}

const areScopes = (scopes: unknown): scopes is readonly string[] =>
  Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string' && isScope(scope))

/** The caller is sent for scopes only when these are all that is missing. */
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

/** Each rule once: a batch may be denied a thousand times by the same. */
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

// They read, end a session, or ask what is allowed; and without a body they call nothing.
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE'])

function refuseUnlessReading({ method, raw }: FastifyRequest): void {
  if (isUpgrade(raw) || !READING.has(method)) throw cannotJudge()
  if (hasBody(raw)) throw new Refusal(400, 'BODY_UNEXPECTED', `a ${method} to an MCP server has no body`)
}

const cannotJudge = (): Refusal =>
  new Refusal(
    403,
    'POLICY_CANNOT_JUDGE',
    'a policy is in force here, which can judge only a POST with a JSON-RPC message, and no upgrade',
  )
