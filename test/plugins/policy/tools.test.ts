import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  ConfigError,
  definePlugin,
  type Entry,
  type Finding,
  type Identity,
  type Judgement,
  Policy,
  type PolicyQuestion,
} from 'sallyport'
import { parse } from 'yaml'
import { booted } from '#kit/booted.js'
import { blocks } from '../../docs/pages.js'

interface Asked {
  readonly judgement: Judgement
  readonly shown: boolean | undefined
  readonly findings: readonly Finding[]
}

/** Asks the policy of a list as the gateway does. */
async function asking(t: TestContext, list: readonly Entry[]) {
  const asked: Promise<Asked>[] = []
  let question: Omit<PolicyQuestion, 'request'> | undefined
  const use = definePlugin({
    name: 'asking',
    api: 1,
    setup(gateway) {
      const policies = gateway.use(Policy)
      gateway.http.get('/ask', { config: { public: true } }, async (request) => {
        const [policy] = policies()
        if (policy !== undefined && question !== undefined)
          asked.push(answersOf(policy, { ...question, request }))
        return 'asked'
      })
    },
  })
  const app = await booted(t, [...list, { use }])
  return async (name: string, identity?: Identity): Promise<Asked> => {
    const subject = { kind: 'tool', name } as const
    question = {
      identity,
      subject,
      call: { kind: 'request', method: 'tools/call', id: 1, subjects: [subject] },
    }
    await app.inject('/ask')
    const last = asked.at(-1)
    assert.ok(last)
    return last
  }
}

async function answersOf(policy: Policy, question: PolicyQuestion): Promise<Asked> {
  const { subject } = question
  return {
    judgement: await policy.judge(question),
    shown: subject && (await policy.shows(question, [subject]))[0],
    findings: (await policy.explain?.(question)) ?? [],
  }
}

const person = (claims: Identity['claims'], scopes: readonly string[] = []): Identity => ({
  provider: 'corp',
  subject: 'ann',
  claims,
  scopes,
})

function rulesOfThePage(): unknown {
  const [sample] = blocks('plugins/policy/README.md', 'yaml')
  assert.ok(sample)
  return parse(sample.text).plugins[0].with
}

test('the rules in the README work as it says', async (t) => {
  const ask = await asking(t, [{ use: 'policy/tools', with: rulesOfThePage() }])
  const writer = person({ groups: ['writers'] })

  assert.ok((await ask('search_web', person({}))).judgement.allowed)
  assert.ok((await ask('write_x', writer)).judgement.allowed)
  assert.ok(!(await ask('write_x', person({ groups: ['readers'] }))).judgement.allowed)
  assert.ok(!(await ask('debug_x', writer)).judgement.allowed)
  assert.ok(!(await ask('other', writer)).judgement.allowed)
  assert.ok((await ask('delete_x', person({}, ['tools:delete']))).judgement.allowed)
  const { judgement, shown } = await ask('delete_x', person({}))
  assert.ok(!judgement.allowed)
  assert.deepEqual(judgement.scopes, ['tools:delete'])
  assert.equal(shown, true)
})

test('the policy explains each rule, the one that decides, and the claims and scopes that the caller lacks', async (t) => {
  const ask = await asking(t, [
    {
      use: 'policy/tools',
      with: {
        rules: [
          { allow: ['a*'], when: { groups: 'x' }, scopes: ['s', 't'] },
          { allow: ['b*'] },
          { deny: ['*z'] },
          { allow: ['ab'] },
        ],
      },
    },
  ])
  const { findings } = await ask('az', person({}, ['s']))
  assert.deepEqual(
    findings.map(({ about, holds }) => [about, holds]),
    [
      ['rules[2].deny[0] "*z"', false],
      ['rules[0].allow[0] "a*"', false],
      ['rules', false],
    ],
  )
  assert.match(findings[1]?.detail ?? '', /groups.*scopes t$/)
  assert.match(findings[2]?.detail ?? '', /rules\[2\]/)
  assert.deepEqual((await ask('b')).findings.at(-1), {
    about: 'rules',
    holds: true,
    detail: 'the call is allowed',
  })
  const other = (await ask('ab')).findings
  assert.match(other[0]?.detail ?? '', /only with .*groups/)
  assert.ok(
    other.length === 3 && other.every(({ holds }) => holds),
    'nothing is wrong where another rule allows it',
  )
})

test('in anonymous mode no response requests more scopes', async (t) => {
  const rules = [{ allow: ['a'], scopes: ['s'] }]
  const ask = await asking(t, [{ use: 'auth/anonymous' }, { use: 'policy/tools', with: { rules } }])
  const anonymous = { provider: 'anonymous', subject: 'anonymous', claims: {} }
  const { judgement, shown } = await ask('a', anonymous)
  assert.ok(!judgement.allowed && judgement.scopes === undefined)
  assert.equal(shown, false)
  // Others of the list have tokens, and can get one with more.
  const others = await ask('a', person({}))
  assert.ok(!others.judgement.allowed)
  assert.deepEqual(others.judgement.scopes, ['s'])
})

test('a list with an empty rule does not start', async (t) => {
  for (const rules of [[], [{ allow: undefined }], [{ deny: ['a'], scopes: ['s'] }]])
    await assert.rejects(booted(t, [{ use: 'policy/tools', with: { rules } }]), ConfigError)
  await assert.rejects(booted(t, [{ use: 'policy/cel', with: { allow: 'subject.name ==' } }]), ConfigError)
  await assert.rejects(booted(t, [{ use: 'policy/cel', with: {} }]), ConfigError)
  const unset = { allow: undefined, deny: 'false' }
  await assert.rejects(booted(t, [{ use: 'policy/cel', with: unset }]), ConfigError)
})
