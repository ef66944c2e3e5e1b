import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkMethod } from '#core/mcp/message.js'
import { MCP_METHODS } from '#core/mcp/methods.js'

test('a method of MCP passes as it is, and is refused in another case, with more slashes or white space', () => {
  const change = fc.constantFrom<(method: string) => string>(
    (method) => method.toUpperCase(),
    (method) => `${method}/`,
    (method) => `/${method}`,
    (method) => `${method}//`,
    (method) => ` ${method}`,
    (method) => `${method}\0`,
    (method) => method.replace('s', '\u017f').replace(/^p/, '\uff50').replace(/^i/, 'I'),
  )
  fc.assert(
    fc.property(fc.constantFrom(...MCP_METHODS.keys()), change, (method, changed) => {
      checkMethod(method)
      if (MCP_METHODS.has(changed(method))) return
      assert.throws(() => checkMethod(changed(method)), { code: 'MESSAGE_AMBIGUOUS' })
    }),
  )
})
