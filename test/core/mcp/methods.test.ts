import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MCP_LISTS, MCP_METHODS, METHOD_FOR } from '#core/mcp/methods.js'

test('each method that uses a subject names one, and each list method names none', () => {
  for (const [kind, method] of Object.entries(METHOD_FOR)) assert.equal(MCP_METHODS.get(method), kind)
  for (const { method } of MCP_LISTS) assert.equal(MCP_METHODS.get(method), 'nothing')
})
