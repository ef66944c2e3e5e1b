import type { FastifyRequest } from 'fastify'
import {
  type Judgement,
  type ListedSubject,
  Policy,
  type PolicyCaller,
  type PolicyQuestion,
} from '../contract/capabilities/policy.js'
import type { Identity } from '../contract/identity.js'
import type { McpCall, McpSubject } from '../contract/message.js'
import { METHOD_FOR } from '../mcp/methods.js'
import { UNUSUAL_NAMES } from './admission.js'
import {
  type CheckResult,
  type ConformanceContext,
  type ConformanceSuite,
  isObject,
  isText,
  leavesRequestUnchanged,
  messageOf,
} from './requirement.js'

const KINDS: readonly McpSubject['kind'][] = ['tool', 'prompt', 'resource']

const NAMES = [
  ...UNUSUAL_NAMES,
  'search',
  'tools:search',
  'file:///a/../b%2e%2e/%ff',
  'https://[',
  '*',
  '{a}',
  '\ud800',
  'x'.repeat(10_000),
]

const SOMEBODY: Identity = { provider: 'conformance', subject: 'somebody', claims: {}, scopes: [] }
const UNUSUAL: Identity = {
  provider: '',
  subject: '',
  claims: { groups: null, level: -1, roles: [[], {}, 'a'], scope: 7, constructor: 'x' },
}
const CALLERS: readonly (Identity | undefined)[] = [undefined, SOMEBODY, UNUSUAL]

// Made anew each time: a policy under test may write to them.
const unnamedCalls = (): readonly McpCall[] => [
  ...['initialize', 'tools/list', 'tools/call', 'nothing/like-it', '__proto__', ''].map(
    (method): McpCall => ({ kind: 'request', method, id: 1, subjects: [] }),
  ),
  { kind: 'notification', method: 'notifications/initialized', subjects: [] },
  { kind: 'response', method: '', subjects: [] },
]

function questionsOf(caller: PolicyCaller): PolicyQuestion[] {
  const subjects = KINDS.flatMap((kind) => NAMES.map((name): McpSubject => ({ kind, name })))
  return [
    ...unnamedCalls().map((call) => ({ ...caller, call, subject: undefined })),
    ...subjects.map((subject) => ({ ...caller, call: callOf(subject), subject })),
  ]
}

const callOf = (subject: McpSubject): McpCall => ({
  kind: 'request',
  method: METHOD_FOR[subject.kind],
  id: 1,
  subjects: [subject],
})

export const policyConformance: ConformanceSuite<Policy> = {
  capability: Policy,
  requirements: [
    {
      code: 'POLICY_MALFORMED',
      statement: 'judges all calls, also of callers without an identity',
      advice:
        'return { allowed: true }, or { allowed: false, reason } with a sentence; throw for no call that a caller can send',
      awaits: 10,
      check: (policy, context) =>
        forEachQuestion(context, async (question) => judgementFault(await policy.judge(question))),
    },
    {
      code: 'POLICY_UNSTABLE',
      statement: 'gives the same judgement on the same question',
      advice: 'decide by the question alone, and by nothing that another question changed',
      awaits: 10,
      check: (policy, context) =>
        forEachQuestion(context, async (question) => {
          const first = JSON.stringify(await policy.judge(question))
          const again = await policy.judge({ ...question })
          return first === JSON.stringify(again) ? undefined : 'it gives two judgements on the same question'
        }),
    },
    {
      code: 'POLICY_LISTS',
      statement: 'shows exactly the items that it allows, or that lack nothing but a scope',
      advice:
        'return one boolean for each item, in order: true if `judge` allows its call, or denies it with `scopes`',
      awaits: 10,
      check: listsAreRight,
    },
    {
      code: 'POLICY_CHANGES',
      statement: 'leaves the question unchanged',
      advice: 'copy the call before you change it: the next policy, and the target, get the same object',
      awaits: 10,
      check: (policy, context) =>
        forEachQuestion(context, async (question) => {
          const { request: _, ...asked } = question
          const before = JSON.stringify(asked)
          await answerOf(() => policy.judge(question))
          await answerOf(() => policy.explain?.(question))
          return JSON.stringify(asked) === before
            ? undefined
            : 'it changes the identity, the call or the subject'
        }),
    },
    leavesRequestUnchanged((policy, request) => {
      const call: McpCall = { kind: 'request', method: 'initialize', id: 1, subjects: [] }
      return policy.judge({ identity: undefined, request, call, subject: undefined })
    }),
  ],
}

async function listsAreRight(policy: Policy, context: ConformanceContext): Promise<CheckResult> {
  const listed = KINDS.flatMap((kind) => NAMES.map((name) => ({ kind, name })))
  const templates: readonly ListedSubject[] = NAMES.map((name) => ({ kind: 'template', name }))
  return forEachCaller(context, async (caller) => {
    const shown: unknown = await policy.shows(caller, [...listed, ...templates])
    if (!Array.isArray(shown) || shown.length !== listed.length + templates.length)
      return 'it does not return one boolean for each item'
    if (!shown.every((each) => typeof each === 'boolean')) return 'an item of the result is no boolean'
    for (const [index, subject] of listed.entries()) {
      const judgement = await policy.judge({ ...caller, call: callOf(subject), subject })
      if (shown[index] !== isOpen(judgement))
        return `a ${subject.kind} is ${shown[index] ? 'shown, but denied' : 'hidden, but allowed'}`
    }
    return undefined
  })
}

const isOpen = (judgement: Judgement): boolean => judgement.allowed || judgement.scopes !== undefined

function judgementFault(judgement: unknown): string | undefined {
  if (!isObject(judgement) || typeof judgement['allowed'] !== 'boolean') return 'it returns no judgement'
  if (judgement['allowed']) return undefined
  const { reason, rule, scopes } = judgement
  if (!isText(reason)) return 'it denies without a reason'
  if (rule !== undefined && typeof rule !== 'string') return '`rule` is no text'
  const isScopes =
    scopes === undefined || (Array.isArray(scopes) && scopes.length > 0 && scopes.every(isText))
  return isScopes ? undefined : '`scopes` is no list of scopes with at least one'
}

/** Another requirement reports a policy that throws here. */
async function answerOf<T>(call: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch {
    return undefined
  }
}

async function forEachCaller(
  context: ConformanceContext,
  check: (caller: PolicyCaller) => Promise<CheckResult>,
): Promise<CheckResult> {
  let fault: CheckResult
  await context.authenticatedRequest(async (request: FastifyRequest) => {
    for (const identity of structuredClone(CALLERS)) fault ??= await check({ identity, request })
  })
  return fault
}

const forEachQuestion = (
  context: ConformanceContext,
  check: (question: PolicyQuestion) => Promise<string | undefined>,
): Promise<CheckResult> =>
  forEachCaller(context, async (caller) => {
    for (const question of questionsOf(caller)) {
      try {
        const fault = await check(question)
        if (fault !== undefined) return `${fault} (${question.call.method || 'a response'})`
      } catch (error) {
        return `it throws: ${messageOf(error)}`
      }
    }
    return undefined
  })
