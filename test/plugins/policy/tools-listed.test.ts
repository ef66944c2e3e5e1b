import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { issuing } from 'sallyport/testing'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'
import { runs } from '#kit/runs.js'

/** How the target writes its lists. */
interface Form {
  readonly era: '2025-11-25' | '2026-07-28'
  readonly stream: boolean
  readonly lineEnd: '\n' | '\r\n' | '\r'
  /** Bytes of each piece. */
  readonly piece: number
}

interface Message {
  readonly id: number
  readonly method: string
  readonly params: { readonly cursor?: string; readonly name?: string; readonly uri?: string }
}

const LISTS = {
  tool: { method: 'tools/list', field: 'tools', key: 'name', use: 'tools/call' },
  prompt: { method: 'prompts/list', field: 'prompts', key: 'name', use: 'prompts/get' },
  resource: { method: 'resources/list', field: 'resources', key: 'uri', use: 'resources/read' },
} as const

type Kind = keyof typeof LISTS
const KINDS = ['tool', 'prompt', 'resource'] as const

/** A target that lists these names of each kind, two on a page, and accepts every call. */
function target(t: TestContext, state: { names: readonly string[]; form: Form }): Promise<string> {
  return listening(t, (incoming: IncomingMessage, response) => {
    void text(incoming).then((body) => {
      const { id, method, params }: Message = JSON.parse(body)
      const kind = KINDS.find((each) => LISTS[each].method === method)
      send(response, state.form, { jsonrpc: '2.0', id, result: kind ? page(kind, state.names, params) : {} })
    })
  })
}

function page(kind: Kind, names: readonly string[], { cursor = '0' }: Message['params']): object {
  const { field, key } = LISTS[kind]
  const from = Number(cursor)
  const items = names.slice(from, from + 2).map((name) => ({ [key]: name, description: 'Ü' }))
  return { [field]: items, ...(from + 2 < names.length && { nextCursor: String(from + 2) }) }
}

function send(response: ServerResponse, { stream, lineEnd: end, piece }: Form, message: object): void {
  const json = JSON.stringify(message)
  const written = stream ? `: hi${end}id: 1${end}data: ${json}${end}${end}` : json
  response.setHeader('content-type', stream ? 'text/event-stream' : 'application/json')
  const bytes = Buffer.from(written)
  for (let at = 0; at < bytes.length; at += piece) response.write(bytes.subarray(at, at + piece))
  response.end()
}

const base64 = (name: string): string => `=?base64?${Buffer.from(name).toString('base64')}?=`

async function ask(url: string, token: string, { era }: Form, method: string, params: Message['params']) {
  const name = params.name ?? params.uri
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': era,
      ...(era === '2026-07-28' && { 'mcp-method': method }),
      ...(era === '2026-07-28' && name !== undefined && { 'mcp-name': base64(name) }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate'),
    body: await response.text(),
  }
}

async function listed(url: string, token: string, form: Form, kind: Kind): Promise<readonly string[]> {
  const { method, field, key } = LISTS[kind]
  const names: string[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < 10; pages++) {
    const { body } = await ask(url, token, form, method, cursor === undefined ? {} : { cursor })
    const json = form.stream ? (/data: (\{[^\r\n]*)/.exec(body)?.[1] ?? '') : body
    const { result }: { result: Readonly<Record<string, unknown>> } = JSON.parse(json)
    const items = result[field] as readonly Readonly<Record<string, string>>[]
    names.push(...items.map((item) => item[key] ?? ''))
    if (typeof result['nextCursor'] !== 'string') return names
    cursor = result['nextCursor']
  }
  return assert.fail('the list has no end')
}

const form: fc.Arbitrary<Form> = fc.record({
  era: fc.constantFrom('2025-11-25' as const, '2026-07-28' as const),
  stream: fc.boolean(),
  lineEnd: fc.constantFrom('\n' as const, '\r\n' as const, '\r' as const),
  piece: fc.integer({ min: 1, max: 60 }),
})
const PLAIN: Form = { era: '2025-11-25', stream: false, lineEnd: '\n', piece: 1 }
// Few letters, so that rules match some of the names.
const word = fc.string({
  unit: fc.constantFrom('a', 'b', 'A', '_', 'é', '"', '/', ' '),
  minLength: 1,
  maxLength: 4,
})
const pattern = fc
  .tuple(
    fc.constantFrom('', 'tool:', 'prompt:', 'resource:', 'resource:x://'),
    fc.constantFrom('', '*'),
    word,
    fc.constantFrom('', '*'),
  )
  .map((parts) => parts.join(''))
const patterns = fc.array(pattern, { minLength: 1, maxLength: 3 })
const when = fc.constantFrom(undefined, undefined, { groups: ['writers'] }, { groups: ['others'] })
const scopes = fc.constantFrom(undefined, ['have'], ['lack'], ['have', 'lack'])
const rule = fc.oneof(
  { weight: 3, arbitrary: fc.record({ allow: patterns, when, scopes }) },
  { weight: 1, arbitrary: fc.record({ deny: patterns, when }) },
)
const defined = (value: object): object =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined))

test('for any rules, names and protocol, lists show exactly the names that the caller may use or lacks only a scope for', async (t) => {
  const issuer = await issuing(t)
  const token = await issuer.jwt({ groups: ['writers'], scope: 'have' })
  const state: { names: readonly string[]; form: Form } = {
    names: [],
    form: PLAIN,
  }
  const origin = await target(t, state)
  const listOf = (rules: readonly object[]) => [
    listen,
    { use: 'auth/oidc', with: issuer.provider },
    { use: 'discovery/issuer' },
    { use: 'discovery/resource' },
    { use: 'policy/tools', with: { rules } },
    { use: 'forward/http', with: { target: `${origin}/mcp` } },
  ]
  const seen = { listed: 0, hidden: 0, lacking: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(rule, { minLength: 1, maxLength: 4 }),
      fc.uniqueArray(word, { minLength: 1, maxLength: 5 }),
      form,
      async (rules, words, written) => {
        const running = await serving(t, listOf(rules.map(defined)))
        const url = `${running.addresses.main}/mcp`
        state.form = written
        for (const kind of KINDS) {
          const { use, key } = LISTS[kind]
          state.names = kind === 'resource' ? words.map((each) => `x://${each}`) : words
          const shown = await listed(url, token, written, kind)
          for (const name of state.names) {
            const { status, challenge } = await ask(url, token, written, use, { [key]: name })
            const lacksScope = status === 403 && challenge?.includes('insufficient_scope') === true
            assert.ok(status === 200 || status === 403, `${status}`)
            assert.equal(
              shown.includes(name),
              status === 200 || lacksScope,
              `${kind} ${JSON.stringify(name)}`,
            )
            if (lacksScope) seen.lacking++
            else if (status === 200) seen.listed++
            else seen.hidden++
          }
        }
        await running.stop(0)
      },
    ),
    {
      numRuns: runs(40),
      // Something that may be used, and something that lacks a scope.
      examples: [
        [[{ allow: ['*'], when: undefined, scopes: undefined }], ['a', 'b'], PLAIN],
        [[{ allow: ['*'], when: undefined, scopes: ['lack'] }], ['a', 'b'], PLAIN],
      ],
    },
  )
  for (const count of Object.values(seen)) assert.ok(count > 1, JSON.stringify(seen))
})
