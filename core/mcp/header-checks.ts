import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../contract/errors.js'
import type { McpCall, McpMessage } from '../contract/message.js'
import { isJsonObject } from '../toolkit/json-object.js'
import { hasMcpHeaders } from './headers.js'
import { METHOD_FOR } from './methods.js'

const VERSION = 'mcp-protocol-version'
const METHOD = 'mcp-method'
const NAME = 'mcp-name'

const MIRRORED: ReadonlySet<string> = new Set([VERSION, METHOD, NAME])
const HAVE_NAMES: ReadonlySet<string> = new Set(Object.values(METHOD_FOR))
const JSON_TYPE = /^application\/json(?:[\t ]*;[\t ]*charset=(?:utf-8|"utf-8"))?$/i

/** Refuses a body that some server could read as anything but plain JSON. */
export function checkContentHeaders({ rawHeaders, headers }: IncomingMessage): void {
  let types = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    // The lengths of both names: a fast test that skips all other headers.
    if (name.length !== 12 && name.length !== 16) continue
    const plain = normalized(name)
    if (plain === 'content-type') types += name.includes('_') ? 2 : 1
    else if (plain === 'content-encoding') {
      throw new Refusal(400, 'MESSAGE_ENCODING', 'a message must not have a Content-Encoding')
    }
  }
  const type = headers['content-type']
  if (types === 1 && (type === 'application/json' || JSON_TYPE.test(type ?? ''))) return
  throw new Refusal(400, 'MESSAGE_CONTENT_TYPE', 'a message must have one Content-Type, application/json')
}

/**
 * Refuses a message whose headers contradict its body, or lack what its protocol version requires. A server may trust
 * either, and policies judge the body only.
 */
export function checkMcpHeaders(
  { rawHeaders, rawTrailers, headers }: IncomingMessage,
  { calls, protocolVersion }: McpMessage,
  value: unknown,
): void {
  const repeated = ambiguousName(rawHeaders)
  if (repeated !== undefined) throw mismatch(repeated, 'is repeated or misspelled')
  const hidden = trailerName(rawTrailers) ?? hopByHopName(headers.connection)
  if (hidden !== undefined) throw mismatch(hidden, 'is hop-by-hop or a trailer')
  const { [METHOD]: method, [NAME]: name } = headers
  const isRequired = protocolVersion !== undefined && hasMcpHeaders(protocolVersion)
  const decoded = typeof name === 'string' ? decodedName(name) : undefined
  if (name !== undefined && decoded === undefined) throw mismatch(NAME, 'cannot be decoded')
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  for (const [index, call] of calls.entries()) {
    if (differsInVersion(protocolVersion, isRequired, values[index])) throw mismatch(VERSION, DIFFERS)
    if (method !== undefined && method !== call.method) throw mismatch(METHOD, DIFFERS)
    if (decoded !== undefined && decoded !== nameOf(call, values[index])) throw mismatch(NAME, DIFFERS)
    // The official clients send no such headers with notifications and responses.
    if (!isRequired || call.kind !== 'request') continue
    if (method === undefined) throw mismatch(METHOD, 'is missing')
    if (name === undefined && HAVE_NAMES.has(call.method)) throw mismatch(NAME, 'is missing')
  }
}

const DIFFERS = 'does not match the body'

const META_VERSION = 'io.modelcontextprotocol/protocolVersion'

/** From the first version that has both, the header has to equal the version in the body: servers may use either. */
function differsInVersion(header: string | undefined, isRequired: boolean, value: unknown): boolean {
  if (!isJsonObject(value) || !isJsonObject(value['params']) || !isJsonObject(value['params']['_meta']))
    return false
  const inBody = value['params']['_meta'][META_VERSION]
  if (inBody === undefined || inBody === header) return false
  return isRequired || (typeof inBody === 'string' && hasMcpHeaders(inBody))
}

/** A mirrored header that occurs twice, or in a form that CGI and its successors read as the same name. */
function ambiguousName(rawHeaders: readonly string[]): string | undefined {
  let seen = ''
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    // A fast test: most names are not even put into lower case.
    if (name.length !== VERSION.length && name.length !== METHOD.length && name.length !== NAME.length)
      continue
    const plain = normalized(name)
    if (!MIRRORED.has(plain)) continue
    if (name.includes('_') || seen.includes(plain)) return plain
    seen += ` ${plain}`
  }
  return undefined
}

/** The value that `Mcp-Name` must have: the one named subject, or the task. */
function nameOf({ method, subjects }: McpCall, value: unknown): string | undefined {
  if (subjects.length === 1) return subjects[0]?.name
  if (!method.startsWith('tasks/') || !isJsonObject(value) || !isJsonObject(value['params'])) return undefined
  const { taskId } = value['params']
  return typeof taskId === 'string' ? taskId : undefined
}

const PREFIX = '=?base64?'
const SUFFIX = '?='

/** Decodes a header: printable ASCII, or the base64 of UTF-8. `undefined` for anything else. */
function decodedName(header: string): string | undefined {
  if (!/^[\t\x20-\x7e]*$/.test(header)) return undefined
  if (!header.startsWith(PREFIX) || !header.endsWith(SUFFIX)) return header
  const encoded = header.slice(PREFIX.length, -SUFFIX.length)
  const bytes = Buffer.from(encoded, 'base64')
  // Only the canonical base64: Node decodes other forms too.
  return bytes.toString('base64') === encoded && isUtf8(bytes) ? bytes.toString() : undefined
}

function normalized(name: string): string {
  const lower = name.toLowerCase()
  return lower.includes('_') ? lower.replaceAll('_', '-') : lower
}

const isJudged = (name: string): boolean => /^(?:mcp|content)-/.test(normalized(name.trim()))

// Some servers treat trailers as headers.
const trailerName = (rawTrailers: readonly string[] | undefined): string | undefined =>
  // A dispatched request has no trailers.
  rawTrailers?.find((name, index) => index % 2 === 0 && isJudged(name))

// The target does not get headers that `Connection` names.
const hopByHopName = (connection: string | undefined): string | undefined =>
  connection === undefined || connection === 'keep-alive' ? undefined : connection.split(',').find(isJudged)

const mismatch = (header: string, what: string): Refusal =>
  new Refusal(
    400,
    'MESSAGE_HEADER_MISMATCH',
    `the header ${WRITTEN.get(header) ?? 'Mcp-* or Content-*'} ${what}`,
  )

const WRITTEN: ReadonlyMap<string, string> = new Map([
  [VERSION, 'MCP-Protocol-Version'],
  [METHOD, 'Mcp-Method'],
  [NAME, 'Mcp-Name'],
])
