import {
  Authenticator,
  definePlugin,
  type Finding,
  type Identity,
  Policy,
  type PolicyQuestion,
} from 'sallyport'
import { unmatchedClaims } from 'sallyport/toolkit'
import type { CompiledPattern } from './tools/compiled-pattern.js'
import { toolsOptions } from './tools/options.js'
import { missingScopes, Rules } from './tools/rules.js'
import { warningsOf } from './tools/warnings.js'

export default definePlugin({
  name: 'policy/tools',
  api: 1,
  summary: 'Allows or denies tools, prompts and resources by claims and scopes of the caller.',
  provides: [Policy],
  options: toolsOptions,

  setup(gateway, { rules: written }) {
    const authenticators = gateway.use(Authenticator)
    const rules = new Rules(
      written,
      // Where the gateway requires no token, a caller cannot get one with more scopes.
      ({ provider }) => !authenticators().some((each) => each.provider === provider && each.open === true),
    )
    gateway.provide(Policy, {
      judge: ({ identity, call, subject }) => rules.judge(identity, call, subject),
      shows: ({ identity }, listed) => listed.map((each) => rules.shows(identity, each)),
      explain: (question) => explainRules(rules, question),
    })
  },

  warnings: ({ rules }) => warningsOf(rules),

  async examine(examination, { rules }) {
    const { examineRules } = await import('./tools/examine.js')
    await examineRules(examination, rules)
  },
})

/**
 * One finding for each pattern that matches the call, with the claims and scopes that the caller lacks; then the
 * verdict.
 */
export function explainRules(rules: Rules, { identity, call, subject }: PolicyQuestion): readonly Finding[] {
  const judgement = rules.judge(identity, call, subject)
  const decided: Finding = {
    about: 'rules',
    holds: judgement.allowed,
    detail: judgement.allowed
      ? 'the call is allowed'
      : `the call is denied: ${judgement.rule}${judgement.scopes === undefined ? '' : `, which needs the scopes ${judgement.scopes.join(' ')}`}`,
  }
  const patterns = subject === undefined ? [] : (rules.patternsFor(subject) ?? [])
  const findings = patterns.map((pattern) => findingOf(pattern, rules, identity))
  // When another rule allows the call, a rule that does not is no fault.
  return [...findings.map((each) => (judgement.allowed ? { ...each, holds: true } : each)), decided]
}

function findingOf(
  { rule, place, isAllow }: CompiledPattern,
  { rules }: Rules,
  identity: Identity | undefined,
): Finding {
  const { when = {}, scopes } = rules[rule] ?? {}
  const claims = unmatchedClaims(when, identity)
  const missing = missingScopes({ scopes }, identity)
  const lacks = [
    ...claims.map((name) => `the claim ${name} as in \`when\``),
    ...(missing.length > 0 ? [`the scopes ${missing.join(' ')}`] : []),
  ]
  const does = isAllow ? 'allows it' : 'denies it'
  const detail = lacks.length === 0 ? does : `${does} only with ${lacks.join(' and ')}`
  return { about: place, holds: (lacks.length === 0) === isAllow, detail }
}
