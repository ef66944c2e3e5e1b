import { GatewayError, Source, within } from 'sallyport'
import { type Contract, Doubt, isObject, messageOf, type Outcome, type Place } from './contract.js'

/** Milliseconds in which whoever was told to stop has to be done. */
const LAST = 1_000

export const sourceContract: Contract<Source> = {
  capability: Source,
  clauses: [
    {
      code: 'SOURCE_UNNAMED',
      asks: 'says its name and its place',
      advice: 'set `name` from the options, and `place` to what it reads, without secrets',
      look: ({ name, place }) =>
        [name, place].every((text) => typeof text === 'string' && text !== '')
          ? undefined
          : 'one of them is empty',
    },
    {
      code: 'SOURCE_MALFORMED',
      asks: 'hands over JSON as bytes',
      advice: "answer { kind: 'whole', payloads } with JSON as bytes, or { kind: 'unchanged' }",
      look: (source, place) => fetching(source, place, 'malformed'),
    },
    {
      code: 'ABORT_IGNORED',
      asks: 'stops when its signal is aborted',
      advice: 'hand `context.signal` to everything that waits: a gateway that stops waits for it otherwise',
      look: (source, place) => fetching(source, place, 'deaf'),
    },
    {
      code: 'WATCH_MALFORMED',
      asks: 'watches until it is told not to',
      advice: 'let `watch` return the function that ends it, which may be called twice',
      look(source) {
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

/** Reads it once; what takes too long is told to stop. */
async function fetching(source: Source, { patience }: Place, about: 'malformed' | 'deaf'): Promise<Outcome> {
  const ending = new AbortController()
  const context = { signal: ending.signal, bookmark: undefined, held: 0 }
  const reading = (async () => faultOf(await source.fetch(context)))()
  try {
    const fault = await within(about === 'deaf' ? 0 : patience, reading, () => new Late())
    return about === 'malformed' ? fault : undefined
  } catch (error) {
    ending.abort(new Error('told to stop'))
    if (!(error instanceof Late)) return about === 'malformed' ? unread(error) : undefined
    const stopped = await within(LAST, reading.then(ended, ended), () => new Late()).catch(() => false)
    if (about === 'deaf') return stopped ? undefined : `${LAST / 1000} s after the abort it still reads`
    return new Doubt(`nothing was read within ${patience / 1000} s`)
  }
}

class Late extends Error {}
const ended = (): boolean => true

/** That its place cannot be reached from here is no fault of it. */
const unread = (error: unknown): Doubt =>
  new Doubt(`nothing was read: ${error instanceof GatewayError ? '' : 'it throws '}${messageOf(error)}`)

async function faultOf(fetched: unknown): Promise<string | undefined> {
  if (!isObject(fetched)) return 'it fetches nothing'
  const { kind, payloads } = fetched
  if (kind === 'unchanged') return 'it says that nothing changed to somebody who holds nothing yet'
  if (kind !== 'whole' && kind !== 'changes') return 'its answer has no known kind'
  if (!isIterable(payloads)) return 'its payloads cannot be read one after the other'
  for await (const payload of payloads) {
    if (!(payload instanceof Uint8Array)) return 'a payload is not bytes'
    try {
      JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload))
    } catch {
      return 'a payload is not JSON in UTF-8'
    }
  }
  return undefined
}

const isIterable = (value: unknown): value is AsyncIterable<unknown> | Iterable<unknown> =>
  isObject(value) && (Symbol.asyncIterator in value || Symbol.iterator in value)
