import assert from 'node:assert/strict'
import { test } from 'node:test'
import { observationOf } from 'sallyport/toolkit'
import { booted, contextFor, serving } from '#kit/booted.js'
import { listen, mcpPlugin } from '#kit/plugin.js'
import { asAnn, known, observing, TRACE_ID, taking } from './observing.js'

const call = (method: string, name?: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  ...(name !== undefined && { params: { name } }),
})

/** Reports tools like a forwarder that has read a list of them. */
const listing = (names: readonly string[]) =>
  mcpPlugin(
    'listing',
    ({ http }) =>
      void http.get('/list', { config: { mcp: true } }, (request) => {
        observationOf(request)?.toolsListed?.(names)
        return 'listed'
      }),
  )

test('calls are measured by method and tool, whose names are bounded', async (t) => {
  const { observed, entry } = observing('measure', 'trace')
  const names = [...Array.from({ length: 1200 }, (_, index) => `tool-${index}`), 'beyond']
  const app = await booted(t, [entry, known(), listing(names), taking])
  const post = (payload: object) => app.inject({ method: 'POST', url: '/mcp', headers: asAnn, payload })
  await post(call('tools/call', 'tool-1'))
  await app.inject({ url: '/list', headers: asAnn })
  await post(call('tools/call', 'tool-1'))
  await post(call('tools/call', 'beyond'))
  await post(call('prompts/get', 'tool-1'))
  await post(call('made/up'))
  await post([call('ping'), { jsonrpc: '2.0', method: 'notifications/initialized' }])

  const calls = observed.measured.filter(({ name }) => name === 'mcp_server_operation_duration_seconds')
  assert.deepEqual(
    calls.map(({ labels: { method, tool, outcome } }) => [method, tool, outcome]),
    [
      ['tools/call', 'other', 'allowed'],
      ['tools/call', 'tool-1', 'allowed'],
      ['tools/call', 'other', 'allowed'],
      ['prompts/get', '', 'allowed'],
      ['other', '', 'allowed'],
      ['ping', '', 'allowed'],
    ],
  )
  assert.ok(calls.every(({ traceId }) => traceId === TRACE_ID))
})

test('after a reload the tools that a server has listed before keep their names', async (t) => {
  const { observed, entry } = observing('measure')
  const list = [listen, entry, known(), listing(['search']), taking]
  const running = await serving(t, list)
  const main = running.addresses.main ?? ''
  await fetch(`${main}/list`, { headers: asAnn })

  await running.swap(list, contextFor({}))

  const body = JSON.stringify(call('tools/call', 'search'))
  const headers = { ...asAnn, 'content-type': 'application/json' }
  assert.ok((await fetch(`${main}/mcp`, { method: 'POST', headers, body })).ok)
  const tools = observed.measured.flatMap(({ labels: { tool } }) => tool ?? [])
  assert.deepEqual(tools, ['search'])
})
