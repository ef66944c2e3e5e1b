import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { lists } from '#cli/tools/doctor/lists.js'
import { listening } from '#kit/listening.js'
import { mcpTarget } from '#kit/mcp-target.js'
import { sdkServer } from '../../../conformance/sdk-server/http.js'

const TOOLS = ['add', 'count', 'headers', 'fail']

for (const era of ['2025-11-25', '2026-07-28'] as const) {
  test(`${era}: the lists of the official server are read, and no connection stays open`, async (t) => {
    const target = await mcpTarget(t, { era })

    const found = await lists(target.url)
    assert.deepEqual(found, { listed: TOOLS.map((name) => ({ kind: 'tool', name })), complete: true })
    assert.equal(target.sessions, 0)
    const last = target.asked.at(-1)
    assert.equal(last?.method, era === '2025-11-25' ? 'DELETE' : 'POST')
  })
}

test('the lists distinguish tools, prompts, resources and templates', async (t) => {
  const { url, close } = await sdkServer()
  t.after(close)

  const { listed = [] } = (await lists(url)) ?? {}
  const of = (kind: string) => listed.filter((each) => each.kind === kind).map(({ name }) => name)
  assert.ok(of('tool').includes('test_simple_text'))
  assert.ok(of('prompt').includes('test_simple_prompt'))
  assert.ok(of('resource').includes('test://static-text'))
  assert.deepEqual(of('template'), ['test://template/{id}/data'])
})

type Message = {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly cursor?: string }
}

/** A server with sessions that has these pages of tools, and answers with these bytes. */
function paging(
  t: TestContext,
  pages: readonly (readonly string[])[],
  write: (response: ServerResponse, body: object) => void,
): Promise<string> {
  return listening(t, (request: IncomingMessage, response) => {
    void text(request).then((body) => {
      const { id, method, params }: Message = JSON.parse(body)
      if (id === undefined) return response.writeHead(202).end()
      const page = Number(params?.cursor ?? 0)
      const result =
        method === 'initialize'
          ? { protocolVersion: '2025-11-25', capabilities: { tools: {} } }
          : {
              tools: (pages[page] ?? []).map((name) => ({ name })),
              ...(page + 1 < pages.length && { nextCursor: String(page + 1) }),
            }
      return write(response, { jsonrpc: '2.0', id, result })
    })
  })
}

const asJson = (response: ServerResponse, body: object): void => {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
}

test('every page is read, from JSON and from endless streams in any pieces', async (t) => {
  const name = fc.string({ unit: 'grapheme', minLength: 1 })
  const line = fc.constantFrom('\n', '\r\n', '\r')
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(name, { maxLength: 4 }), { minLength: 1, maxLength: 4 }),
      fc.option(fc.record({ line, cut: fc.integer({ min: 1, max: 40 }) })),
      async (pages, stream) => {
        const url = await paging(t, pages, (response, body) => {
          if (stream === null) return asJson(response, body)
          const { line: end, cut } = stream
          const noise = `: hello${end}${end}id: 1${end}data:${end}${end}`
          const event = `event: message${end}data: ${JSON.stringify(body)}${end}${end}`
          const bytes = Buffer.from(`${noise}${event}`)
          response.setHeader('content-type', 'text/event-stream')
          for (let at = 0; at < bytes.length; at += cut) response.write(bytes.subarray(at, at + cut))
        })
        const { listed, complete } = (await lists(url)) ?? {}
        assert.deepEqual(
          listed?.map((each) => each.name),
          pages.flat(),
        )
        assert.equal(complete, true)
      },
    ),
    { numRuns: 25 },
  )
})

test('an endless list is read in part, and a list that is too large is an error', async (t) => {
  const endless = await paging(
    t,
    Array.from({ length: 101 }, () => ['a']),
    asJson,
  )
  const { listed, complete } = (await lists(endless)) ?? {}
  assert.equal(listed?.length, 100)
  assert.equal(complete, false)

  const huge = await paging(t, [['x'.repeat(17 * 1024 * 1024)]], asJson)
  await assert.rejects(lists(huge), /too long/)
})

test('the lists of a server that needs a credential are read only with the bearer', async (t) => {
  const target = await mcpTarget(t)
  target.intercept = ({ headers }, response) => {
    if (headers.authorization === 'Bearer right') return false
    response.writeHead(401).end()
    return true
  }
  assert.equal(await lists(target.url), undefined)
  const { listed } = (await lists(target.url, { bearer: 'right' })) ?? {}
  assert.equal(listed?.length, TOOLS.length)
})

test('a server that does not speak MCP is an error', async (t) => {
  const url = await listening(t, (_request, response) => response.writeHead(404).end('<html>'))
  await assert.rejects(lists(url), /it answers 404 to server\/discover/)
})

test('the lists of an extension are read only when the server declares it', async (t) => {
  const skills = [{ uri: 'skill://pdf/SKILL.md', frontmatter: { name: 'pdf', description: 'reads' } }]
  const serving = (capabilities: object) =>
    listening(t, (request: IncomingMessage, response) => {
      void text(request).then((body) => {
        const { id, method }: Message = JSON.parse(body)
        if (id === undefined) return response.writeHead(202).end()
        const greeting = { protocolVersion: '2026-07-28', capabilities }
        return asJson(response, {
          jsonrpc: '2.0',
          id,
          result: method === 'initialize' ? greeting : { skills },
        })
      })
    })
  const listedBy = async (capabilities: object) => (await lists(await serving(capabilities)))?.listed
  const declared = { 'io.modelcontextprotocol/skills': { directoryRead: true } }
  assert.deepEqual(await listedBy({ resources: {}, extensions: declared }), [
    { kind: 'resource', name: 'skill://pdf/SKILL.md' },
  ])
  assert.deepEqual(await listedBy({ resources: {}, extensions: {} }), [])
})
