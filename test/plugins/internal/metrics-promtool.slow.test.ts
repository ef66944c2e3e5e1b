import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'

const missing = spawnSync('promtool', ['--version']).error === undefined ? false : 'promtool is not installed'

test('promtool reports no problem in the metrics', { skip: missing }, async (t) => {
  const target = await listening(t, (_request, response) => response.end('{}'))
  const { addresses } = await serving(t, [
    listen,
    { use: 'internal/server', with: { address: '127.0.0.1:0' } },
    { use: 'internal/metrics' },
    { use: 'auth/anonymous' },
    { use: 'forward/http', with: { target } },
  ])
  const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a' } })
  const headers = { 'content-type': 'application/json' }
  await (await fetch(addresses.main ?? '', { method: 'POST', headers, body: call })).text()

  const metrics = await (await fetch(`${addresses.internal}/metrics`)).text()
  assert.match(metrics, /^mcp_server_operation_duration_seconds_count\{/m)
  const { status, stderr, stdout } = spawnSync('promtool', ['check', 'metrics'], { input: metrics })
  assert.deepEqual([status, String(stderr) + String(stdout)], [0, ''])
})
