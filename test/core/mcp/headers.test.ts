import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { mcpHeaders } from 'sallyport/toolkit'

const named = { 'mcp-method': 'tools/call', 'mcp-name': 'search' }

test('the headers count from the first version that has them', () => {
  for (const version of ['2026-07-28', '2026-12-01', '2030-01-01'])
    assert.deepEqual(mcpHeaders({ ...named, 'mcp-protocol-version': version }), {
      mcpMethod: 'tools/call',
      mcpName: 'search',
    })
  for (const version of ['2025-11-25', '2026-07-27', 'draft', '9', '2026-07-28, 2026-07-28', ''])
    assert.deepEqual(mcpHeaders({ ...named, 'mcp-protocol-version': version }), {}, version)
  assert.deepEqual(mcpHeaders(named), {})
})

test('a logged URI of a resource has no query, fragment, content or credentials', () => {
  const nameOf = (name: string, method = 'resources/read') =>
    mcpHeaders({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': name }).mcpName
  for (const method of ['resources/read', 'completion/complete', 'unknown']) {
    assert.equal(nameOf('postgres://user:pa/s3cret@db.internal/x', method), 'postgres://db.internal/x')
    assert.equal(nameOf('https://h/x;jsessionid=s3cret', method), 'https://h/x')
    assert.equal(nameOf('data:text/plain,s3cret', method), 'data:')
  }
  assert.equal(nameOf(`https://user:${'s3cret'.repeat(50)}@h/x`), 'https://h/x')
  assert.equal(nameOf('s3cret@'), undefined)
  assert.equal(nameOf('a:b@c;d', 'tools/call'), 'a:b@c;d')
  assert.equal(nameOf('https://files.example/a?token=secret'), 'https://files.example/a')
  assert.equal(nameOf('notes://one#secret'), 'notes://one')
  assert.equal(nameOf('?token=secret'), undefined)
})

test('the identifier of a task, which works like a token, is not logged', () => {
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': '786512e2' }
    assert.deepEqual(mcpHeaders(headers), { mcpMethod: method })
  }
})

test('whatever a client writes, the logged fields are short and printable', () => {
  const text = fc.option(fc.string({ unit: 'binary', maxLength: 1000 }), { nil: undefined })
  fc.assert(
    fc.property(text, text, (method, name) => {
      const headers = {
        'mcp-protocol-version': '2026-07-28',
        ...(method !== undefined && { 'mcp-method': method }),
        ...(name !== undefined && { 'mcp-name': name }),
      }
      for (const value of Object.values(mcpHeaders(headers))) assert.match(value, /^[\x20-\x7e]{1,128}$/)
    }),
  )
  assert.equal(
    mcpHeaders({ 'mcp-protocol-version': '2026-07-28', 'mcp-name': 'x'.repeat(9000) }).mcpName?.length,
    128,
  )
})
