import { type Judgement, Policy, type PolicyQuestion } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'

contractSuite('policy/tools', () => ({
  list: [
    {
      use: 'policy/tools',
      with: {
        rules: [
          { allow: ['search*', 'prompt:*', 'resource:file:///a/*'] },
          { allow: ['*'], scopes: ['all'] },
          { deny: ['*x*', 'resource:*secret*'], when: { level: -1 } },
        ],
      },
    },
  ],
}))

contractSuite('policy/cel', () => ({
  list: [
    {
      use: 'policy/cel',
      with: {
        allow: 'identity.claims.level == -1 || glob(subject.name, "s*")',
        deny: 'subject.kind == "prompt"',
      },
    },
  ],
}))

const ALLOWED: Judgement = { allowed: true }
const DENIED: Judgement = { allowed: false, reason: 'not allowed' }

const judging = (judge: (question: PolicyQuestion) => unknown, isShown = true): unknown => ({
  judge,
  shows: (_: unknown, listed: readonly unknown[]) => listed.map(() => isShown),
})

findsFaults(Policy, {
  'a policy that returns a boolean': {
    code: 'POLICY_MALFORMED',
    make: () => judging(({ subject }) => (subject === undefined ? true : ALLOWED)),
  },
  'a policy that denies without a reason': {
    code: 'POLICY_MALFORMED',
    make: () => judging(() => ({ allowed: false }), false),
  },
  'a policy that allows every other time': {
    code: 'POLICY_UNSTABLE',
    make: () => {
      let count = 0
      return judging(({ subject }) => (subject === undefined && count++ % 2 === 0 ? DENIED : ALLOWED))
    },
  },
  'a policy that shows items that it denies': { code: 'POLICY_LISTS', make: () => judging(() => DENIED) },
  'a policy that hides items that only lack a scope': {
    code: 'POLICY_LISTS',
    make: () => judging(() => ({ ...DENIED, scopes: ['a'] }), false),
  },
  'a policy that returns too few booleans': {
    code: 'POLICY_LISTS',
    make: () => ({ judge: () => ALLOWED, shows: () => [true] }),
  },
  'writing to the call': {
    code: 'POLICY_CHANGES',
    make: () =>
      judging(({ call }) => {
        Object.assign(call, { method: 'tools/list' })
        return ALLOWED
      }),
  },
  'writing to the request': {
    code: 'REQUEST_CHANGED',
    make: () =>
      judging(({ request }) => {
        request.headers['x-a'] = 'b'
        return ALLOWED
      }),
  },
})
