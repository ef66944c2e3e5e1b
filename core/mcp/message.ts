import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from '../contract/errors.js'
import type { McpCall, McpMessage, McpSubject, TraceContext } from '../contract/message.js'
import { wholeBodyOf } from '../http/body.js'
import { isPromise } from '../toolkit/deadline.js'
import { folded } from '../toolkit/folded.js'
import { isJsonObject, type JsonObject } from '../toolkit/json-object.js'
import { decorateCallObserver } from './call-observer.js'
import { checkContentHeaders, checkMcpHeaders } from './header-checks.js'
import {
  ambiguous,
  countMembers,
  distinctMembers,
  hasPrototype,
  MAX_SUBJECTS,
  tooLarge,
} from './json-members.js'
import { idTextIn, needsText } from './message-id.js'
import { MCP_METHODS } from './methods.js'

const MAX_BYTES = 1024 * 1024
const MAX_ARRIVED = 64 * 1024
const MAX_NAME_BYTES = 8 * 1024
const MAX_NAMES_BYTES = 64 * 1024

const READING = Symbol('message being read')
const READ = Symbol('message read')

declare module 'fastify' {
  interface FastifyRequest {
    [READING]: McpMessage | Promise<McpMessage> | undefined
    [READ]: McpMessage | undefined
  }
}

export function decorateMessage(app: FastifyInstance): void {
  app.decorateRequest(READING, undefined)
  app.decorateRequest(READ, undefined)
  decorateCallObserver(app)
  app.decorateRequest('message', message)
}

/** `request.message`: reads the message once for all callers. */
async function message(this: FastifyRequest): Promise<McpMessage | undefined> {
  if (this.method !== 'POST' || this.routeOptions.config.mcp !== true) return undefined
  return messageOf(this)
}

/** The message of a POST to an MCP server. Returns no promise when the body has arrived. */
export function messageOf(request: FastifyRequest): McpMessage | Promise<McpMessage> {
  request[READING] ??= readMessage(request)
  return request[READING]
}

/** The message of a request, if it was read already; also if the request was refused after that. */
export const messageRead = (request: FastifyRequest): McpMessage | undefined => request[READ]

function readMessage(request: FastifyRequest): McpMessage | Promise<McpMessage> {
  const take = (body: Buffer): McpMessage => {
    // An error reply takes the id from it.
    request.body = body
    return readFrom(request, body)
  }
  try {
    checkContentHeaders(request.raw)
    const body = wholeBodyOf(request, longestMessage(request))
    return isPromise(body) ? body.then(take) : take(body)
  } catch (error) {
    // Every later caller gets the same error.
    return Promise.reject(error)
  }
}

/** In bytes: parsing blocks all other requests. */
export const longestMessage = ({ routeOptions }: FastifyRequest): number =>
  routeOptions.config.maxMessage ?? MAX_BYTES

/**
 * Reads the message of a refused request, if it is small and has arrived: the error reply then has the id of the call,
 * and observers get the call.
 */
export function readArrivedMessage(request: FastifyRequest): void {
  const { raw, headers } = request
  const length = raw.readableLength
  const hasCome = length > 0 && length <= MAX_ARRIVED && length === Number(headers['content-length'])
  if (request.method !== 'POST' || request[READ] !== undefined || !hasCome) return
  const body: Buffer = raw.read()
  request.body = body
  try {
    readMessageFrom(request, body)
  } catch {
    // The request is refused for another reason already.
  }
}

/** Reads the message of a POST whose body was read already; throws the refusal that `request.message` would. */
export function readMessageFrom(request: FastifyRequest, body: Buffer): void {
  checkContentHeaders(request.raw)
  readFrom(request, body)
}

function readFrom(request: FastifyRequest, body: Buffer): McpMessage {
  const text = textOf(body)
  const value = parsed(text)
  const version = request.headers['mcp-protocol-version']
  const read = toMessage(value, text, typeof version === 'string' ? version : undefined)
  request[READ] = read
  checkMcpHeaders(request.raw, read, value)
  return read
}

function textOf(body: Buffer): string {
  if (!isUtf8(body)) throw refusal('MESSAGE_ENCODING', 'the body is not UTF-8')
  const text = body.toString()
  if (text.startsWith('\ufeff')) throw refusal('MESSAGE_ENCODING', 'the body begins with a byte order mark')
  return text
}

/** Parses JSON. Throws unless every server would read the members that determine the call in the same way. */
export function parsed(text: string): unknown {
  const count = countMembers(text)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw refusal('MESSAGE_NOT_JSON', 'the body is not JSON')
  }
  if (hasPrototype(text)) throw ambiguous('a member is called __proto__')
  if (count === distinctMembers(value)) return value
  const isOutside = countMembers(text, 1) !== distinctMembers(value, 1)
  throw ambiguous(`a member ${isOutside ? 'of the message' : 'in its params'} occurs twice`)
}

function toMessage(value: unknown, text: string, protocolVersion: string | undefined): McpMessage {
  if (!Array.isArray(value)) {
    const call = toCall(value)
    const idText = needsText(call.id) ? idTextIn(text) : undefined
    const withIdText = idText === undefined ? call : { ...call, idText }
    return { protocolVersion, isBatch: false, calls: withinLimits([withIdText]) }
  }
  if (value.length === 0) throw malformed('the batch is empty')
  return { protocolVersion, isBatch: true, calls: withinLimits(value.map(toCall)) }
}

function withinLimits(calls: readonly McpCall[]): readonly McpCall[] {
  const count = calls.reduce((sum, { subjects }) => sum + subjects.length, 0)
  if (count > MAX_SUBJECTS) throw tooLarge(`names more than ${MAX_SUBJECTS} things`)
  // Each name is within its limit, so a few cannot exceed the limit of all together.
  if (count * MAX_NAME_BYTES <= MAX_NAMES_BYTES) return calls
  let bytes = 0
  for (const { subjects } of calls) for (const { name } of subjects) bytes += Buffer.byteLength(name)
  if (bytes > MAX_NAMES_BYTES) throw tooLarge(`has names of more than ${MAX_NAMES_BYTES} bytes together`)
  return calls
}

function toCall(envelope: unknown): McpCall {
  if (!isJsonObject(envelope)) throw malformed('a message must be an object')
  const { method, id, params } = envelope
  const isAnswer = Object.hasOwn(envelope, 'result') || Object.hasOwn(envelope, 'error')
  if (!Object.hasOwn(envelope, 'method')) {
    if (!isAnswer) throw malformed('a message must have a method, a result or an error')
    return { kind: 'response', method: '', subjects: [] }
  }
  if (isAnswer) throw malformed('a message with a method must have neither result nor error')
  if (typeof method !== 'string' || method === '' || !isName(method))
    throw malformed('the method is empty, too long, or not a string')
  checkMethod(method)
  const subjects = subjectsOf(method, isJsonObject(params) ? params : {})
  const called = Object.hasOwn(envelope, 'id')
    ? ({ kind: 'request', method, id: idOf(id), subjects } as const)
    : ({ kind: 'notification', method, subjects } as const)
  const trace = isJsonObject(params) ? traceIn(params['_meta']) : undefined
  return trace === undefined ? called : { ...called, trace }
}

function idOf(id: unknown): string | number | null {
  if (typeof id === 'string' || typeof id === 'number' || id === null) return id
  throw malformed('the id is neither a string nor a number')
}

function traceIn(meta: unknown): TraceContext | undefined {
  if (!isJsonObject(meta) || typeof meta['traceparent'] !== 'string') return undefined
  const { traceparent, tracestate } = meta
  return { traceparent, ...(typeof tracestate === 'string' && { tracestate }) }
}

function subjectsOf(method: string, params: JsonObject): readonly McpSubject[] {
  switch (MCP_METHODS.get(method)) {
    case 'tool':
      return [subject('tool', params['name'])]
    case 'prompt':
      return [subject('prompt', params['name'])]
    case 'resource':
      return [subject('resource', params['uri'])]
    case 'reference':
      return [referenced(params['ref'])]
    case 'subscriptions':
      return subscribed(params['notifications'])
    case 'nothing':
    case undefined:
      return NO_SUBJECTS
  }
}

const NO_SUBJECTS: readonly McpSubject[] = []

function referenced(ref: unknown): McpSubject {
  const { type, name, uri } = isJsonObject(ref) ? ref : {}
  if (type === 'ref/prompt') return subject('prompt', name)
  if (type === 'ref/resource') return subject('resource', uri)
  throw unnamed()
}

function subscribed(notifications: unknown): readonly McpSubject[] {
  if (!isJsonObject(notifications)) throw unnamed()
  const { resourceSubscriptions: uris = [] } = notifications
  if (!Array.isArray(uris)) throw unnamed()
  return uris.map((uri) => subject('resource', uri))
}

function subject(kind: McpSubject['kind'], name: unknown): McpSubject {
  if (typeof name !== 'string' || !isName(name)) throw unnamed()
  return { kind, name }
}

// Servers replace lone surrogates, each in its own way.
const isName = (text: string): boolean =>
  text.isWellFormed() && (text.length <= MAX_NAME_BYTES / 3 || Buffer.byteLength(text) <= MAX_NAME_BYTES)

const refusal = (code: string, message: string): Refusal => new Refusal(400, code, message)

const malformed = (message: string): Refusal => refusal('MESSAGE_MALFORMED', message)

const unnamed = (): Refusal =>
  refusal(
    'MESSAGE_UNNAMED',
    `the call names no tool, prompt or resource, or its name is not a string of at most ${MAX_NAME_BYTES} bytes`,
  )

const FOLDED: ReadonlySet<string> = new Set([...MCP_METHODS.keys()].map(routed))

const INVISIBLE = /[\s\p{Cc}\p{Cf}]/u

/** Refuses a method that a server could take for one of MCP if it trims, folds case, or routes methods like paths. */
export function checkMethod(method: string): void {
  if (MCP_METHODS.has(method)) return
  if (INVISIBLE.test(method)) throw ambiguous('the method has white space or control characters')
  if (FOLDED.has(routed(method)))
    throw ambiguous('the method differs from one of MCP only by case, slashes or characters that look alike')
}

function routed(method: string): string {
  return folded(method.normalize('NFKC'))
    .split('/')
    .filter((part) => part !== '')
    .join('/')
}
