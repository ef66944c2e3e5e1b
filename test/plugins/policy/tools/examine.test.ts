import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { planOf } from '#cli/config/all-problems.js'
import { readList } from '#cli/config/read-list.js'
import { examine } from '#cli/tools/doctor/examine.js'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { mcpTarget } from '#kit/mcp-target.js'
import { sdkServer } from '../../../conformance/sdk-server/http.js'

async function looked(t: TestContext, ...list: readonly object[]) {
  const home = folder(t, { 'list.json': JSON.stringify(list) })
  const planned = await planOf(await readList(join(home, 'list.json'), process.env))
  assert.ok('plan' in planned, JSON.stringify(planned))
  const findings = await examine(planned.plan, home)
  return findings.filter(({ about }) => about === 'policy/tools')
}

const policy = (...allow: string[]) => ({ use: 'policy/tools', with: { rules: [{ allow }] } })
const forward = (target: string) => ({ use: 'forward/http', with: { target } })

for (const era of ['2025-11-25', '2026-07-28'] as const) {
  test(`${era}: the check reports patterns that match nothing of the target, with the nearest real name`, async (t) => {
    const target = await mcpTarget(t, { era })

    const found = await looked(t, policy('add', 'coumt', 'heeder*', '*', 'prompt:ask'), forward(target.url))
    assert.deepEqual(
      found.map(({ check, state, code, advice }) => [check, state, code, advice]),
      [
        ['rules[0] "coumt"', 'warning', 'PATTERN_UNMATCHED', 'did you mean "count"?'],
        ['rules[0] "heeder*"', 'warning', 'PATTERN_UNMATCHED', 'did you mean "headers"?'],
        ['rules[0] "prompt:ask"', 'warning', 'PATTERN_UNMATCHED', 'correct it, or leave it out'],
      ],
    )
  })
}

test('the check compares prompts, resources and templates too, and asks the first of several replicas', async (t) => {
  const { url, close } = await sdkServer()
  t.after(close)
  const patterns = [
    'prompt:test_simple_prompt',
    'resource:test://template/7/data',
    'resource:test://static-*',
  ]
  const balanced = { use: 'forward/balanced', with: { targets: [url] } }

  const found = await looked(t, policy('test_simple_text', ...patterns), balanced)
  assert.deepEqual(
    found.map(({ state, code }) => [state, code]),
    [['ok', 'OK']],
  )
})

test('the check finds a pattern of any kind and rule that matches nothing', async (t) => {
  const { url, close } = await sdkServer()
  t.after(close)
  const rules = [
    { allow: ['test_*', 'serach', 'prompt:test_*', 'resource:test://template/*', 'resource:file:///old/*'] },
    { deny: ['debug_*', 'prompt:x*', 'prompt:test_simple_prompt'], when: { a: 1 } },
  ]

  const found = await looked(t, { use: 'policy/tools', with: { rules } }, forward(url))
  assert.deepEqual(
    found.map(({ check }) => check),
    ['rules[0] "serach"', 'rules[0] "resource:file:///old/*"', 'rules[1] "debug_*"', 'rules[1] "prompt:x*"'],
  )
})

test('the check compares a target behind a credential only with the bearer token of the list', async (t) => {
  const target = await mcpTarget(t)
  target.intercept = ({ headers }, response) => {
    if (headers.authorization === 'Bearer right') return false
    response.writeHead(401).end()
    return true
  }
  const list = [policy('coumt'), forward(target.url)]
  const [without] = await looked(t, ...list)
  assert.equal(without?.state, 'ok')
  assert.match(without?.detail ?? '', /^not compared: the target needs a credential/)

  const bearer = { use: 'credential/static-bearer', with: { token: 'right' } }
  for (const complete of [
    [bearer, ...list],
    [...list, bearer],
  ]) {
    const [found] = await looked(t, ...complete)
    assert.equal(found?.code, 'PATTERN_UNMATCHED')
  }
})

test('the check does not compare a target that lists more than it reads: a match may come later', async (t) => {
  const target = await mcpTarget(t)
  target.intercept = (_request, response, body) => {
    const { id, method } = JSON.parse(body || '{}')
    if (method !== 'tools/list') return false
    const result = { tools: [{ name: 'add', inputSchema: { type: 'object' } }], nextCursor: 'more' }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    return true
  }
  const [found, ...others] = await looked(t, policy('count'), forward(target.url))
  assert.deepEqual(others, [])
  assert.match(found?.detail ?? '', /^not compared: the target lists more/)
})

test('without a target, or with one that does not respond, the check compares nothing', async (t) => {
  const [alone] = await looked(t, policy('add'))
  assert.match(alone?.detail ?? '', /^not compared: no target/)
  const [dead] = await looked(t, policy('add'), forward(await closedPort()))
  assert.equal(dead?.code, 'LISTS_UNREAD')
})
