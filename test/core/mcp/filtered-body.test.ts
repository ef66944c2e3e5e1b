import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isShown, policy } from '../../plugins/forward/hiding.js'
import { proxied, send } from '../../plugins/forward/proxied.js'
import { rawTarget } from '../../plugins/forward/raw-target.js'

const LIST = '{"result":{"tools":[{"name":"x"}]}}'

const answer = (header: string, body = ''): string =>
  `HTTP/1.1 200 OK\r\n${header}\r\nContent-Length: ${body.length}\r\n\r\n${body}`

test('no shared cache may keep a list, changed or not', async (t) => {
  const bodies = [LIST, '{"result":{"tools":[{"name":"a"}]}}', `data: ${LIST}\n\n`]
  const target = await rawTarget(t, ({ line }) =>
    answer('Cache-Control: public, max-age=60, s-maxage=9', bodies[Number(line.split(' ')[1]?.slice(1))]),
  )
  const { main } = await proxied(t, target.origin, {}, [policy()])

  for (const index of bodies.keys())
    assert.equal((await send(main, { path: `/${index}` })).headers['cache-control'], 'private, max-age=60')
})

test('events without a type, or as plain text, are filtered', async (t) => {
  const types = ['', 'Content-Type: text/plain\r\n', 'Content-Type: text/plain; charset=utf-8\r\n']
  const starts = ['', ':\n\n', 'id: 1\n', 'event:message\n', 'retry: 1\r\n', '\ufeff\n']
  const cases = types.flatMap((type) => starts.map((start) => [type, start] as const))
  const target = await rawTarget(t, ({ line }) => {
    const [type, start] = cases[Number(line.split(' ')[1]?.slice(1))] ?? ['', 'none']
    const chunks = Buffer.from(`${start}data: ${LIST}\n\n`).toString('latin1').split('')
    const body = chunks.map((each) => `1\r\n${each}\r\n`).join('')
    return `HTTP/1.1 200 OK\r\n${type}Transfer-Encoding: chunked\r\n\r\n${body}0\r\n\r\n`
  })
  const { main } = await proxied(t, target.origin, {}, [policy()])

  for (const [index, [type, start]] of cases.entries()) {
    const { body } = await send(main, { path: `/${index}` })
    assert.equal(body, `${start}data: {"result":{"tools":[]}}\n\n`, JSON.stringify([type, start]))
  }
})

test('the end of events without a type waits for the policy, also after an event that was cut off', async (t) => {
  const target = await rawTarget(t, () => answer('X-A: 1', `id: 1\ndata: ${LIST}\n\ndata: ${LIST}`))
  const later = policy(async (_caller, listed) => listed.map(isShown))
  const { main } = await proxied(t, target.origin, {}, [later])

  const left = 'data: {"result":{"tools":[]}}'
  assert.equal((await send(main)).body, `id: 1\n${left}\n\n${left}`)
})
