import type { Denial, Identity, Judgement, McpSubject, Policy, PolicyQuestion, Problem } from 'sallyport'
import { METHOD_FOR, messageOf, within } from 'sallyport/toolkit'
import type { Report } from './authentication.js'
import type { ScopeChecks } from './checks.js'

/** Milliseconds that one policy may take. */
const POLICY_TIMEOUT = 15_000

/** Prints the decision of each policy of a scope on a call, and returns whether all policies allow it. */
export async function judged(
  report: Report,
  { policies, request }: ScopeChecks,
  identity: Identity | undefined,
  { method, subject }: AskedCall,
): Promise<boolean> {
  const caller = Object.assign(await request(), { identity })
  const call = { kind: 'request' as const, method, id: 1, subjects: subject === undefined ? [] : [subject] }
  const question: PolicyQuestion = { identity, request: caller, call, subject }
  report.print(`${textOf({ method, subject })}:`)
  const denials: Denial[] = []
  for (const [index, policy] of policies.entries()) {
    const denial = await denialBy(report, `${index + 1}. policy`, policy, question)
    if (denial !== undefined) denials.push(denial)
  }
  for (const { reason } of denials) report.print(`denied: ${reason}`)
  const scopes = [...new Set(denials.flatMap(({ scopes: needed = [] }) => needed))]
  const isScopeEnough = denials.every((denial) => (denial.scopes ?? []).length > 0)
  if (denials.length > 0 && isScopeEnough)
    report.print(`with a token that has these scopes it is allowed: ${scopes.join(' ')}`)
  if (denials.length === 0) report.print(policies.length === 0 ? 'allowed: there is no policy' : 'allowed')
  if (subject !== undefined && policies.length > 0) await printListed(report, policies, question, subject)
  return denials.length === 0
}

/** The denial of one policy, if it denies; a policy that fails denies, as in a running gateway. */
async function denialBy(
  report: Report,
  heading: string,
  policy: Policy,
  question: PolicyQuestion,
): Promise<Denial | undefined> {
  let judgement: Judgement
  try {
    judgement = await inTime(policy.judge(question))
    const rule = judgement.allowed ? undefined : judgement.rule
    report.print(
      `${heading}: ${judgement.allowed ? 'allows it' : 'denies it'}${rule === undefined ? '' : ` (${rule})`}`,
    )
    report.findings((await inTime(policy.explain?.(question))) ?? [])
  } catch (error) {
    report.print(`${heading}: fails, so the call is denied: ${messageOf(error)}`)
    return { allowed: false, reason: 'a policy failed' }
  }
  return judgement.allowed ? undefined : judgement
}

async function printListed(
  report: Report,
  policies: readonly Policy[],
  question: PolicyQuestion,
  subject: McpSubject,
): Promise<void> {
  const shown = await Promise.all(policies.map((policy) => inTime(policy.shows(question, [subject]))))
  report.print(
    `in lists of ${subject.kind}s it is ${shown.every(([isShown]) => isShown === true) ? 'shown' : 'left out'}`,
  )
}

const inTime = <T>(answer: T | Promise<T>): Promise<T> =>
  within(
    POLICY_TIMEOUT,
    Promise.resolve(answer),
    () => new Error(`no answer within ${POLICY_TIMEOUT / 1000} s`),
  )

/** A call as a client would make it. */
export interface AskedCall {
  readonly method: string
  readonly subject: McpSubject | undefined
}

interface Flags {
  readonly tool?: string | undefined
  readonly prompt?: string | undefined
  readonly resource?: string | undefined
  readonly method?: string | undefined
}

/** The call that the flags name, if they name one. */
export function askedCall(flags: Flags): { readonly call?: AskedCall } | { readonly problem: Problem } {
  const named = (['tool', 'prompt', 'resource'] as const).flatMap((kind): McpSubject[] => {
    const name = flags[kind]
    return name === undefined ? [] : [{ kind, name }]
  })
  const [subject, other] = named
  if (other !== undefined) {
    const message = 'expected a tool, a prompt or a resource, and not several of them'
    return { problem: { place: `--${other.kind}`, message } }
  }
  const method = flags.method ?? (subject && METHOD_FOR[subject.kind])
  return method === undefined ? {} : { call: { method, subject } }
}

const textOf = ({ method, subject }: AskedCall): string =>
  subject === undefined ? method : `${method} of the ${subject.kind} ${JSON.stringify(subject.name)}`
