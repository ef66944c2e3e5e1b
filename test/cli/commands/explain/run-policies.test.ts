import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { issuing } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'

/** Lets tools of their own through for everybody, those of writers with a scope, and fails for one. */
const POLICY = `
  import { definePlugin, Policy } from 'sallyport'
  const mine = (name) => name.startsWith('my_')
  export default definePlugin({ name: 'theirs', api: 1, provides: [Policy], setup: (gateway) =>
    gateway.provide(Policy, {
      judge({ identity, request, call, subject }) {
        if (subject?.name === 'odd') throw new Error('it cannot tell')
        if (request.clientAddress !== '127.0.0.1') return { allowed: false, reason: 'elsewhere' }
        if (subject === undefined) return call.method === 'ping' ? { allowed: true } : { allowed: false, reason: 'no' }
        if (mine(subject.name) || identity?.subject === 'anonymous') return { allowed: true }
        const scopes = subject.kind === 'tool' ? { scopes: ['tools:write', 'tools:all'] } : {}
        return { allowed: false, reason: 'it is for ' + call.method + ' of others', rule: 'rules[1]', ...scopes }
      },
      shows: (_caller, listed) => listed.map(({ kind, name }) => kind === 'tool' || mine(name)),
      explain: ({ subject, identity }) => [
        { about: 'rules[1]', holds: subject !== undefined && mine(subject.name), detail: 'of ' + identity?.subject },
      ],
    }) })`

async function explain(t: TestContext, list: object, token: string | undefined, ...flags: string[]) {
  const files = folder(t, { 'list.json': JSON.stringify(list), 'policy.mjs': POLICY, token: token ?? '' })
  const from = token === undefined ? [] : ['--token-file', join(files, 'token')]
  const explaining = program(t, ['explain', '--config', join(files, 'list.json'), ...from, ...flags])
  const code = await explaining.ended()
  return { code, ...explaining.output }
}

const policy = { use: './policy.mjs' }

test('each policy judges the caller of a token, and explain prints what would have to change', async (t) => {
  const issuer = await issuing(t)
  const list = [{ use: 'auth/oidc', with: issuer.provider }, { use: 'discovery/issuer' }, policy]
  const token = await issuer.jwt({ sub: 'alice' })

  const denied = await explain(t, list, token, '--tool', 'delete_page')
  assert.equal(denied.code, 1, denied.stderr)
  const [, judgement = ''] = denied.stdout.split('the token is accepted by corp\n')
  assert.deepEqual(judgement.split('\n'), [
    'tools/call of the tool "delete_page":',
    '1. policy: denies it (rules[1])',
    '   wrong rules[1]  of alice',
    'denied: it is for tools/call of others',
    'with a token that has these scopes it is allowed: tools:write tools:all',
    'in lists of tools it is shown',
    '',
  ])

  const allowed = await explain(t, list, token, '--tool', 'my_page')
  assert.equal(allowed.code, 0, allowed.stderr)
  assert.match(allowed.stdout, /^1\. policy: allows it\n {3}ok {4}rules\[1\] {2}of alice\nallowed$/m)
})

test('policies judge prompts, resources and methods too, and only scopes that would help are named', async (t) => {
  const issuer = await issuing(t)
  const list = [{ use: 'auth/oidc', with: issuer.provider }, { use: 'discovery/issuer' }, policy]
  const token = await issuer.jwt()
  const asked = (...flags: string[]) => explain(t, list, token, ...flags)

  const [prompt, resource, subscription, ping, other] = await Promise.all([
    asked('--prompt', 'ask'),
    asked('--resource', 'file:///a b'),
    asked('--resource', 'my_a', '--method', 'resources/subscribe'),
    asked('--method', 'ping'),
    asked('--method', 'logging/setLevel'),
  ])
  assert.match(prompt.stdout, /^prompts\/get of the prompt "ask":$/m)
  assert.match(prompt.stdout, /^in lists of prompts it is left out$/m)
  assert.doesNotMatch(prompt.stdout, /scopes/)
  assert.match(resource.stdout, /^resources\/read of the resource "file:\/\/\/a b":$/m)
  assert.match(subscription.stdout, /^resources\/subscribe of the resource "my_a":$/m)
  assert.deepEqual(
    [prompt, resource, subscription, ping, other].map(({ code }) => code),
    [1, 1, 0, 0, 1],
  )
})

test('policies do not judge the caller of a refused token', async (t) => {
  const issuer = await issuing(t)
  const list = [{ use: 'auth/oidc', with: issuer.provider }, { use: 'discovery/issuer' }, policy]

  const { code, stdout } = await explain(t, list, await issuer.jwt({ aud: 'else' }), '--tool', 'my_page')
  assert.equal(code, 1)
  assert.match(stdout, /the token is refused\n$/)
})

test('without a required token the anonymous caller is judged, and a policy that fails denies', async (t) => {
  const list = [{ use: 'auth/anonymous' }, { scope: '/inner', plugins: [policy] }]

  const allowed = await explain(t, list, undefined, '--tool', 'page')
  assert.equal(allowed.code, 0, allowed.stderr)
  assert.match(allowed.stdout, /^\/inner:\n(?:.*\n)+allowed\n/)
  assert.doesNotMatch(allowed.stdout, /no policy/)
  const free = await explain(t, [{ use: 'auth/anonymous' }], undefined, '--tool', 'page')
  assert.equal(free.code, 0, free.stderr)
  assert.match(free.stdout, /^allowed: there is no policy$/m)

  const failed = await explain(t, [{ use: 'auth/anonymous' }, policy], undefined, '--tool', 'odd')
  assert.equal(failed.code, 1)
  assert.match(failed.stdout, /^1\. policy: fails, so the call is denied: it cannot tell$/m)
})

test('a tool and a prompt together are a mistake of the command line', async (t) => {
  const { code, stderr } = await explain(t, [policy], undefined, '--tool', 'a', '--prompt', 'b')
  assert.equal(code, 2)
  assert.match(stderr, /^--prompt: expected a tool, a prompt or a resource/)
})
