import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { List } from 'sallyport'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { Person } from '#kit/person.js'
import { program } from '#kit/program.js'
import { brokered, calledWith, HandClient } from '../../../plugins/issuer/brokered.js'

const runner =
  (t: TestContext) =>
  async (...argv: string[]) => {
    const { output, ended } = program(t, ['auth', ...argv])
    return { code: await ended(), ...output }
  }

/** The file of a list, which programs read. */
function fileOf(place: string, list: List, name = 'gateway.json'): string {
  const path = join(place, name)
  writeFileSync(path, JSON.stringify({ plugins: list }))
  return path
}

/** A gateway that runs, and its file. */
async function served(t: TestContext) {
  const state = { use: 'state/sqlite', with: { directory: folder(t), passphrase: 'x'.repeat(20) } }
  const running = await brokered(t, { state })
  return { ...running, file: fileOf(running.home, running.list), run: runner(t) }
}

const isRefused = async (url: string, token: unknown): Promise<boolean> =>
  (await calledWith(url, token)) === 401

test('an operator sees who signed in, and revokes a person by the name, within 5 s for the running gateway', async (t) => {
  const { origin, url, file, run } = await served(t)
  const alice = await new HandClient(origin).tokens(new Person('alice'))
  const { code, stdout, stderr } = await run('sessions', '--config', file)
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^[\w-]{24}: Alice \(alice\), by By hand, since \d{4}-\S+Z\n$/)
  const [shown, ...others] = JSON.parse((await run('sessions', '--config', file, '--json')).stdout)
  assert.deepEqual(Object.keys(shown), ['id', 'subject', 'name', 'client', 'at'])
  assert.equal(others.length, 0)

  const revoked = await run('revoke', '--config', file, '--name', 'Alice')
  assert.deepEqual(
    [revoked.code, revoked.stdout],
    [0, 'revoked Alice: 1 sign-in has ended\n'],
    revoked.stderr,
  )
  await eventually(() => isRefused(url, alice['access_token']), 5)
  assert.equal((await run('sessions', '--config', file, '--json')).stdout, '[]\n')
  assert.equal((await run('revoke', '--config', file, '--name', 'Alice')).code, 1, 'nobody is left')
})

test('one sign-in is revoked by its id, and a person by the subject, also without a sign-in', async (t) => {
  const { origin, url, file, run } = await served(t)
  const client = new HandClient(origin)
  const [one, two] = [await client.tokens(new Person('alice')), await client.tokens(new Person('alice'))]
  const [first] = JSON.parse((await run('sessions', '--config', file, '--json')).stdout)
  const byId = await run('revoke', '--config', file, '--session', first.id)
  assert.deepEqual([byId.code, byId.stdout], [0, `revoked the sign-in ${first.id}: 1 sign-in has ended\n`])
  await eventually(() => isRefused(url, one['access_token']), 5)
  assert.equal(await calledWith(url, two['access_token']), 200)

  const bySubject = await run('revoke', '--config', file, '--subject', 'alice')
  assert.equal(bySubject.code, 0, bySubject.stderr)
  await eventually(() => isRefused(url, two['access_token']), 5)
  for (const more of [[], ['--idp', 'https://other.example']]) {
    const unknown = await run('revoke', '--config', file, '--subject', 'carol', ...more)
    assert.deepEqual([unknown.code, unknown.stderr], [0, ''])
  }
})

test('of several people with one name none is revoked, and the operator gets their subjects', async (t) => {
  const { origin, url, issuer, file, run } = await served(t)
  const tokens = [
    await new HandClient(origin).tokens(new Person('alice')),
    await new HandClient(origin).tokens(new Person('bob')),
  ]
  const { code, stderr } = await run('revoke', '--config', file, '--name', 'Alice')
  assert.equal(code, 2)
  assert.match(stderr, /^--name: 2 people are Alice/)
  for (const subject of ['alice', 'bob'])
    assert.ok(stderr.includes(`  ${subject} of ${issuer.url}\n`), stderr)
  for (const { access_token: token } of tokens) assert.equal(await calledWith(url, token), 200)
})

test('what cannot be done is an exit code and a sentence that says what to do', async (t) => {
  const { home, list, file, run } = await served(t)
  const revoke = ['revoke', '--config', file]
  const isOf = (kind: string) => (item: List[number]) =>
    'use' in item && typeof item.use === 'string' && item.use.startsWith(kind)
  const inMemory = list.map((item) => (isOf('state/')(item) ? { use: 'state/memory' } : item))
  const withoutBroker = [
    { use: 'auth/anonymous' },
    { use: 'forward/http', with: { target: 'http://127.0.0.1:9/' } },
  ]
  const otherKey = list.map((item) =>
    isOf('issuer/')(item) && 'with' in item
      ? { ...item, with: { ...Object(item.with), keyFile: './other.key' } }
      : item,
  )
  const memory = fileOf(home, inMemory, 'memory.json')
  const none = fileOf(home, withoutBroker, 'none.json')
  const other = fileOf(home, otherKey, 'other.json')
  const rows: readonly (readonly [readonly string[], number, RegExp])[] = [
    [revoke, 2, /auth revoke: expected exactly one of --subject, --name and --session/],
    [[...revoke, '--subject', 'a', '--name', 'b'], 2, /exactly one of/],
    [[...revoke, '--name', 'a', '--session', 'b'], 2, /exactly one of/],
    [[...revoke, '--name', 'a', '--idp', 'https://a.example'], 2, /--idp: goes with --subject alone/],
    [[...revoke, '--subject', 'a', '--json'], 2, /--json: does not go with auth revoke/],
    [[...revoke, 'alice'], 2, /auth revoke: takes no target/],
    [['revoke', '--name', 'a'], 2, /--config: is missing/],
    [['sessions'], 2, /--config: is missing/],
    [['sessions', '--config', file, '--name', 'a'], 2, /--name: does not go with auth sessions/],
    [['list', '--subject', 'a'], 2, /--subject: does not go with auth list/],
    [[...revoke, '--name', 'Nobody'], 1, /nobody who is signed in is Nobody/],
    [[...revoke, '--session', 'none'], 1, /no sign-in has the id none/],
    [['sessions', '--config', none], 2, /auth sessions: nobody signs in at this gateway.*`broker`/],
    [['revoke', '--config', none, '--subject', 'a'], 2, /nobody signs in at this gateway/],
    [['revoke', '--config', memory, '--subject', 'a'], 2, /state\/memory cannot be shared/],
    [['revoke', '--config', other, '--subject', 'a'], 2, /no gateway with this key file has started/],
    [['sessions', '--config', join(home, 'missing.json')], 2, /missing\.json/],
  ]
  for (const [argv, code, message] of rows) {
    const result = await run(...argv)
    assert.equal(result.code, code, `${argv.join(' ')}: ${result.stderr}`)
    assert.match(result.stderr, message)
    assert.equal(result.stdout, '')
  }
})
