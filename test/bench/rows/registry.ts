import { writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { bin } from '#kit/started-program.js'
import { type Contestant, startAnnounced } from '../contestant.js'
import { type BenchContext, lastingToken } from '../context.js'
import type { CallResult } from '../results.js'
import { measureCalls } from './measure-calls.js'
import { registryFile } from './registry-file.js'

const SERVERS = 10_000
const BASE = '/registry/default/v0.1/servers'
const QUESTIONS = {
  list: BASE,
  search: `${BASE}?search=server-50`,
  get: `${BASE}/${encodeURIComponent('com.example/server-5000')}/versions/latest`,
}
const staticScript = join(import.meta.dirname, '../servers/static.mjs')

export const bareFastify = 'bare Fastify'

/** Measures one request to the registry, in each form of its answer, against a route with the same bytes in memory. */
export async function measureRegistry(
  context: BenchContext,
  question: keyof typeof QUESTIONS,
): Promise<readonly CallResult[]> {
  const config = join(context.home, 'many.json')
  writeFileSync(config, JSON.stringify(registryFile(context, SERVERS)))
  const registry = await startAnnounced('registry', [bin, 'registry', '--config', config])
  const authorization = `Bearer ${await lastingToken(context.issuers.RS256.issuer)}`
  try {
    const url = `http://127.0.0.1:${registry.port}${QUESTIONS[question]}`
    await untilServed(url, authorization)
    const results: CallResult[] = []
    for (const [form, headers] of await formsOf(url, authorization)) {
      const key = form === '' ? `registry-${question}` : `registry-${question}-${form}`
      results.push(...(await measureForm(context, key, registry, url, { authorization, ...headers })))
    }
    return results
  } finally {
    await registry.stop()
  }
}

type Headers = Readonly<Record<string, string>>

/** The plain answer, the compressed one where there is one, and the 304. */
async function formsOf(url: string, authorization: string): Promise<readonly (readonly [string, Headers])[]> {
  const compressed = await asked(url, { authorization, 'accept-encoding': 'gzip' })
  compressed.resume()
  const { etag = '', 'content-encoding': encoding } = compressed.headers
  const gzip = [['gzip', { 'accept-encoding': 'gzip' }]] as const
  return [['', {}], ...(encoding === 'gzip' ? gzip : []), ['304', { 'if-none-match': etag }]]
}

async function measureForm(
  context: BenchContext,
  row: string,
  registry: Contestant,
  url: string,
  headers: Headers,
): Promise<readonly CallResult[]> {
  const answer = await asked(url, headers)
  const body = await buffer(answer)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const order = {
    head: [`GET ${url.slice(url.indexOf(BASE))} HTTP/1.1`, ...lines].join('\r\n'),
    body: '',
    status: answer.statusCode ?? 0,
    answer: body.toString('base64'),
  }
  const bare = await startAnnounced(bareFastify, [staticScript, url, JSON.stringify(headers)])
  try {
    return await measureCalls(
      context,
      [bare, registry].map((contestant) => ({ contestant, order })),
      { row, title: `${row.replaceAll('-', ' ')}, ${SERVERS} servers, RS256 in`, subject: registry.name },
    )
  } finally {
    await bare.stop()
  }
}

async function untilServed(url: string, authorization: string): Promise<void> {
  const open = await asked(url, {})
  open.resume()
  if (open.statusCode !== 401) throw new Error(`the registry answered ${open.statusCode} without a token`)
  for (;;) {
    const answer = await asked(url, { authorization })
    if (answer.statusCode === 200 && (await buffer(answer)).length > 200) return
    answer.resume()
    await pause(20)
  }
}

function asked(url: string, headers: Headers): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, { headers, agent: false }, resolve).on('error', reject).end()
  })
}
