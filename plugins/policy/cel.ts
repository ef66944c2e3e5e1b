import { definePlugin, type Finding, Policy, type PolicyQuestion } from 'sallyport'
import { z } from 'zod'
import { parseExpression } from './cel/expression.js'
import { type Expressions, judge, shows } from './cel/judge.js'
import { refuseWithoutValue } from './without-value.js'

const expression = z.string().transform((text, context) => {
  const parsed = parseExpression(text)
  if (!('fault' in parsed)) return parsed
  context.addIssue({ code: 'custom', message: parsed.fault })
  return z.NEVER
})

export default definePlugin({
  name: 'policy/cel',
  api: 1,
  summary: 'Allows or denies calls by expressions in CEL, the Common Expression Language.',
  provides: [Policy],
  options: z
    .strictObject({
      allow: expression
        .optional()
        .describe('true for a call that is allowed; by default every call that `deny` does not deny'),
      deny: expression
        .optional()
        .describe('true for a call that is denied, also when `allow` is true for it'),
    })
    .superRefine((written, context) => {
      refuseWithoutValue(written, context)
      if (Object.keys(written).length === 0)
        context.addIssue({ code: 'custom', message: 'expected `allow`, `deny` or both' })
    }),

  setup(gateway, { allow, deny }) {
    const expressions: Expressions = { allow, deny }
    gateway.provide(Policy, {
      judge: (question) => judge(expressions, question),
      shows: ({ identity, request }, listed) =>
        listed.map((each) => shows(expressions, identity, each, request)),
      explain: (question) => [findingOf(expressions, question)],
    })
  },
})

function findingOf(expressions: Expressions, question: PolicyQuestion): Finding {
  const judgement = judge(expressions, question)
  const detail = judgement.allowed ? 'the call is allowed' : `the call is denied by ${judgement.rule}`
  return { about: 'expressions', holds: judgement.allowed, detail }
}
