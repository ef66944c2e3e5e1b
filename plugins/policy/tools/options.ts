import { type ClaimCondition, claimCondition, scopeToken } from 'sallyport/toolkit'
import { z } from 'zod'
import { refuseWithoutValue } from '../without-value.js'
import { parsePattern } from './parse-pattern.js'

/** A rule as the operator writes it. */
export interface Rule {
  readonly allow?: readonly string[] | undefined
  readonly deny?: readonly string[] | undefined
  readonly when?: ClaimCondition | undefined
  readonly scopes?: readonly string[] | undefined
}

const EXPECTED_PATTERNS = 'expected a list with at least one pattern, such as ["search_*", "prompt:*"]'
const EXPECTED_SCOPES =
  'expected a list with at least one scope, each printable and without spaces, quotes and backslashes'
const EXPECTED_RULES =
  'expected a list with at least one rule, such as { allow: ["search_*"] }; without the plugin everything is allowed'
const EXPECTED_RULE = 'expected one of `allow` and `deny`: write a separate rule for each'

const pattern = z.string({ error: 'expected a pattern' }).superRefine((text, context) => {
  const parsed = parsePattern(text)
  if (typeof parsed === 'string') context.addIssue({ code: 'custom', message: parsed })
})

const patterns = () => z.array(pattern, { error: EXPECTED_PATTERNS }).min(1, EXPECTED_PATTERNS)

const rule = z
  .strictObject({
    allow: patterns()
      .optional()
      .describe('patterns of the tools, `prompt:` and `resource:` that callers may use'),
    deny: patterns()
      .optional()
      .describe('patterns of those that callers may not use, also when another rule allows them'),
    when: claimCondition()
      .optional()
      .describe('only for callers with these claims: a value, or a list of values of which one has to match'),
    scopes: z
      .array(scopeToken(EXPECTED_SCOPES), { error: EXPECTED_SCOPES })
      .min(1, EXPECTED_SCOPES)
      .optional()
      .describe('allows only with all of these scopes; the response names them to the caller'),
  })
  .superRefine((written, context) => {
    const refuse = (message: string, path: string[] = []): void =>
      context.addIssue({ code: 'custom', path, message })
    refuseWithoutValue(written, context)
    const hasAllow = Object.hasOwn(written, 'allow')
    if (hasAllow === Object.hasOwn(written, 'deny')) refuse(EXPECTED_RULE)
    else if (!hasAllow && Object.hasOwn(written, 'scopes'))
      refuse('belongs to `allow`: with `deny`, write `when: { scope: ... }`', ['scopes'])
  })

export const toolsOptions = z.strictObject({
  rules: z
    .array(rule, { error: EXPECTED_RULES })
    .min(1, EXPECTED_RULES)
    .describe(
      '`allow` or `deny` with a list of patterns: tools, `prompt:` and `resource:`, with `*` for any run of characters; `when`: for callers with these claims; `scopes`: allows only with all of these',
    ),
})
