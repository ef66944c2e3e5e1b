import { definePlugin, type Identity, type ListedSubject, Policy } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'my-policy',
  api: 1,
  version: '0.1.0',
  summary: 'Allows tools with a prefix in their name only to callers of one mail domain.',
  provides: [Policy],
  options: z.strictObject({
    prefix: z.string().min(1).default('admin_').describe('how the names of these tools begin'),
    domain: z.string().min(1).describe('the part after the @ in the claim `email`'),
  }),

  setup(gateway, { prefix, domain }) {
    // One function decides for both, so that a list shows the tools that the caller may use.
    const allows = (identity: Identity | undefined, { kind, name }: ListedSubject): boolean =>
      kind !== 'tool' || !name.startsWith(prefix) || isOfDomain(identity, domain)

    gateway.provide(Policy, {
      judge({ identity, subject }) {
        if (subject === undefined || allows(identity, subject)) return { allowed: true }
        // The caller sees the reason; only the log has the rule.
        return { allowed: false, reason: 'you may not use this tool', rule: `${prefix} is for ${domain}` }
      },
      shows: ({ identity }, listed) => listed.map((each) => allows(identity, each)),
    })
  },
})

// A claim may have any type, or be missing.
function isOfDomain(identity: Identity | undefined, domain: string): boolean {
  const email = identity?.claims['email']
  return typeof email === 'string' && email.endsWith(`@${domain}`)
}
