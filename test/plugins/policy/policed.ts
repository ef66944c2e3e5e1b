import { type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'

export interface Reached {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Rule {
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The code of JSON-RPC, if the body is an error. */
  readonly code: unknown
  /** The gateway's own error code. */
  readonly error: unknown
}

type Respond = (request: IncomingMessage, response: ServerResponse, body: string) => void

const respondNothing: Respond = (_request, response) => void response.writeHead(202).end()

/** The proxy with these rules for all callers, before a target that records every request. */
export async function policed(t: TestContext, rules: readonly Rule[], respond: Respond = respondNothing) {
  const reached: Reached[] = []
  const target = await listening(t, (incoming, response) => {
    void text(incoming).then((body) => {
      const { method = '', headers } = incoming
      reached.push({ method, headers, body })
      respond(incoming, response, body)
    })
  })
  const plugins = [{ use: 'policy/tools', with: { rules } }]
  const settings = ProxySettings.parse({ targetUri: `${target}/mcp`, plugins })
  const { addresses } = await serving(t, proxy(settings))
  return { reached, url: `${addresses.main}/mcp` }
}

type Headers = Readonly<Record<string, string | readonly string[]>>

export const JSON_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

/** Sends a request unchanged, with its length added. */
export function asked(
  url: string,
  body: string | Uint8Array = '',
  headers: Headers = JSON_HEADERS,
  method = 'POST',
): Promise<Answer> {
  const bytes = Buffer.from(body)
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().flatMap((each) => [name, each]),
  )
  const framing = method === 'POST' || bytes.length > 0 ? ['content-length', String(bytes.length)] : []
  return new Promise((resolve, reject) => {
    const raw = ['host', new URL(url).host, ...framing, ...lines]
    const asking = request(url, { method, headers: raw as never, agent: false }, (response) => {
      text(response).then((said) => resolve(answerOf(response, said)), reject)
    })
    asking.on('error', reject)
    asking.end(bytes)
  })
}

function answerOf({ statusCode: status = 0, headers }: IncomingMessage, body: string): Answer {
  const { error }: { error?: { code?: unknown; data?: { error?: unknown } } } = parsed(body)
  return { status, headers, body, code: error?.code, error: error?.data?.error }
}

function parsed(text: string): object {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

export const call = (name: string, id: string | number = 1): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: {} },
})

export const named = (method: string, params: object = {}): object => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params,
})
