import { Source } from '../contract/capabilities/source.js'
import { GatewayError } from '../contract/errors.js'
import { within } from '../toolkit/deadline.js'
import {
  type CheckResult,
  type ConformanceContext,
  type ConformanceSuite,
  Inconclusive,
  isObject,
  isText,
  messageOf,
} from './requirement.js'

/** Milliseconds in which a sync has to end after its abort. */
const ABORT_LIMIT = 1_000

export const sourceConformance: ConformanceSuite<Source> = {
  capability: Source,
  requirements: [
    {
      code: 'SOURCE_UNNAMED',
      statement: 'has a name and a place',
      advice: 'set `name` from the options, and `place` to what it reads, without secrets',
      check: ({ name, place }) =>
        [name, place].every(isText) ? undefined : 'one of them is empty, or no text',
    },
    {
      code: 'INTERVAL_MALFORMED',
      statement: 'has an interval in milliseconds, or none',
      advice: 'set `every` to more than 0, or leave it out: 0 would read without a pause',
      check: ({ every }) => (every === undefined || every > 0 ? undefined : `its interval is ${every}`),
    },
    {
      code: 'SOURCE_MALFORMED',
      statement: 'hands over JSON as bytes',
      advice: "answer { kind: 'whole', payloads } with JSON as bytes, or { kind: 'unchanged' }",
      check: (source, context) => fetched(source, context, 'format'),
    },
    {
      code: 'ABORT_IGNORED',
      statement: 'stops when its signal is aborted',
      advice: 'hand `context.signal` to everything that waits: a gateway that stops waits for it otherwise',
      check: (source, context) => fetched(source, context, 'abort'),
    },
    {
      code: 'WATCH_MALFORMED',
      statement: 'watches until the watch is ended',
      advice: 'let `watch` return the function that ends it, which may be called twice',
      check(source) {
        const end: unknown = source.watch?.(() => {})
        if (end === undefined) return source.watch === undefined ? undefined : '`watch` returns nothing'
        if (typeof end !== 'function') return '`watch` returns no function'
        end()
        end()
        return undefined
      },
    },
  ],
}

/** Reads it once; what takes too long is aborted. */
async function fetched(
  source: Source,
  { timeout }: ConformanceContext,
  about: 'format' | 'abort',
): Promise<CheckResult> {
  const controller = new AbortController()
  const context = { signal: controller.signal, bookmark: undefined, held: 0 }
  const reading = (async () => faultOf(await source.fetch(context)))()
  try {
    const fault = await within(about === 'abort' ? 0 : timeout, reading, () => new TimedOut())
    return about === 'format' ? fault : undefined
  } catch (error) {
    controller.abort(new Error('the sync was aborted'))
    if (!(error instanceof TimedOut)) return about === 'format' ? unread(error) : undefined
    const settled = (): boolean => true
    const stopped = await within(ABORT_LIMIT, reading.then(settled, settled), () => new TimedOut()).catch(
      () => false,
    )
    if (about === 'abort')
      return stopped ? undefined : `${ABORT_LIMIT / 1000} s after the abort it still reads`
    return new Inconclusive(`nothing was read within ${timeout / 1000} s`)
  }
}

class TimedOut extends Error {}

// That its place cannot be reached from here is no fault of it.
const unread = (error: unknown): Inconclusive =>
  new Inconclusive(
    `nothing was read: ${error instanceof GatewayError ? '' : 'it throws '}${messageOf(error)}`,
  )

async function faultOf(answer: unknown): Promise<string | undefined> {
  if (!isObject(answer)) return 'it fetches nothing'
  const { kind, payloads, asOf } = answer
  if (kind === 'unchanged') return 'it answers "unchanged" although nothing is held yet'
  if (kind !== 'whole' && kind !== 'changes') return 'its answer has no known kind'
  if (!isIterable(payloads)) return 'its payloads cannot be read one after the other'
  if (asOf !== undefined && !(asOf instanceof Date)) return '`asOf` is no Date'
  for await (const payload of payloads) {
    if (!(payload instanceof Uint8Array)) return 'a payload is not bytes'
    try {
      JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload))
    } catch {
      return 'a payload is not JSON in UTF-8'
    }
  }
  const bookmark: unknown = typeof answer['bookmark'] === 'function' ? answer['bookmark']() : ''
  return typeof bookmark === 'string' ? undefined : 'its bookmark is no text'
}

const isIterable = (value: unknown): value is AsyncIterable<unknown> | Iterable<unknown> =>
  isObject(value) && (Symbol.asyncIterator in value || Symbol.iterator in value)
