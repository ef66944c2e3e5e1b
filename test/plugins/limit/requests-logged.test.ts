import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AuditEvent, AuditSink } from 'sallyport'
import { eventually } from '#kit/captured-log.js'
import { listening } from '#kit/listening.js'
import { providing } from '#kit/plugin.js'
import { proxied, send } from '../forward/proxied.js'

const ID = '1764316800000000001'
const body = `{"jsonrpc":"2.0","id":${ID},"method":"tools/call","params":{"name":"search"}}`

for (const by of ['caller', 'address', 'tool', 'caller+tool']) {
  test(`the log and audit of a call over a limit by ${by} name its tool and the limit, and the answer has its id`, async (t) => {
    const events: AuditEvent[] = []
    const target = await listening(t, (_request, response) => response.end('{}'))
    const other = by === 'address' ? 'caller' : 'address'
    const limits = [
      { by: other, rate: '1000/1m' },
      { by, rate: '1/1m' },
    ]
    const { main, lines } = await proxied(t, target, {}, [
      { use: 'limit/requests', with: { limits } },
      { use: 'log/access' },
      providing('sink', AuditSink, (event) => void events.push(event)),
    ])
    const post = () => send(main, { method: 'POST', headers: { 'content-type': 'application/json' }, body })

    assert.equal((await post()).status, 200)
    const refused = await post()

    assert.equal(refused.status, 429)
    assert.ok(refused.body.includes(`"id":${ID},`), refused.body)
    const event = await eventually(() => events.find(({ status }) => status === 429))
    assert.deepEqual(
      [event.mcp?.method, event.mcp?.name, event.outcome, event.causes],
      ['tools/call', 'search', 'denied', ['too_many_requests', 'limits[1]']],
    )
    const line = await eventually(() => lines.find(({ msg }) => msg === 'refused'))
    assert.deepEqual([line['mcpMethod'], line['mcpName']], ['tools/call', 'search'])
  })
}
