import { type LimitAnswer, Limiter, type LimitKey } from '../contract/capabilities/limiter.js'
import type { McpMessage } from '../contract/message.js'
import { isJsonObject } from '../toolkit/json-object.js'
import { randomName } from './admission.js'
import { type ConformanceSuite, firstFault } from './requirement.js'

const MOST = 200

const UNUSUAL = ['', ' ', '\0', '\n', '__proto__', 'constructor', '*', 'ä€😀', '\ud800', 'x'.repeat(10_000)]

const keyOf = (text: string): LimitKey => ({ caller: `caller ${text}`, address: `address ${text}` })

const calling = (names: readonly string[]): McpMessage => ({
  protocolVersion: undefined,
  isBatch: names.length !== 1,
  calls: names.map((name) => ({
    kind: 'request',
    method: 'tools/call',
    id: 1,
    subjects: [{ kind: 'tool', name }],
  })),
})

/** The answers to one request after the other, until the limiter refuses one. */
async function untilRefused(limiter: Limiter, key: LimitKey): Promise<readonly LimitAnswer[]> {
  const answers: LimitAnswer[] = []
  while (answers.length < MOST && (answers.at(-1) ?? 0) === 0) answers.push(await limiter.take(key, 1))
  return answers
}

function faultOf(answer: unknown): string | undefined {
  const { wait, limit = '' }: Readonly<Record<string, unknown>> = isJsonObject(answer)
    ? answer
    : { wait: answer }
  if (typeof wait === 'number' && wait >= 0 && typeof limit === 'string') return undefined
  return `it returns ${isJsonObject(answer) ? JSON.stringify(answer) : String(answer)}`
}

export const limiterConformance: ConformanceSuite<Limiter> = {
  capability: Limiter,
  requirements: [
    {
      code: 'LIMIT_MALFORMED',
      statement: 'returns 0 or the reached limit, for every caller',
      advice:
        'return 0 when the request may go on, else `{ wait, limit }` or milliseconds; names are any text',
      check: (limiter) =>
        firstFault(UNUSUAL, async (text) => {
          const unusual = { ...keyOf(randomName()), caller: text }
          for (const key of [keyOf(text), unusual, { ...unusual, caller: undefined }]) {
            const fault = faultOf(await limiter.take(key, 1))
            if (fault !== undefined) return fault
          }
          return undefined
        }),
    },
    {
      code: 'LIMIT_SHARED',
      statement: 'counts each caller at each address separately',
      advice: 'count by the whole text of `caller` and `address`, and by nothing that callers share',
      awaits: 10,
      async check(limiter) {
        const name = randomName()
        await untilRefused(limiter, keyOf(name))
        return (await limiter.take(keyOf(`${name}.`), 1)) === 0
          ? undefined
          : 'it refuses one caller for the requests of another'
      },
    },
    {
      code: 'LIMIT_COST',
      statement: 'never admits a request that costs more than all requests that it would admit at once',
      advice: 'count `cost`, not requests; return Infinity for a request that could never go on',
      awaits: 10,
      async check(limiter) {
        const answers = await untilRefused(limiter, keyOf(randomName()))
        if (answers.at(-1) === 0) return undefined
        const most = answers.length - 1
        return (await limiter.take(keyOf(randomName()), most + 1)) === 0
          ? `it admits ${most} requests one by one, and a request with cost ${most + 1}`
          : undefined
      },
    },
    {
      code: 'LIMIT_CALLS_MALFORMED',
      statement: 'returns 0 or the reached limit, for all calls',
      advice:
        'return 0 when the calls may go on, else `{ wait, limit }` or milliseconds; names of tools are any text',
      check: (limiter) =>
        firstFault(UNUSUAL, async (text) => {
          for (const names of [[text], [text, text], [text, 'other']]) {
            const key = keyOf(randomName())
            if ((await limiter.take(key, 1)) !== 0) continue
            if (limiter.takeCalls === undefined) return undefined
            const fault = faultOf(await limiter.takeCalls(key, calling(names)))
            if (fault !== undefined) return fault
          }
          return undefined
        }),
    },
    {
      code: 'LIMIT_BATCH',
      statement: 'counts each call of a batch like a request',
      advice: 'in `takeCalls` count all calls but one, under the same key as `take`',
      awaits: 10,
      async check(limiter) {
        const answers = await untilRefused(limiter, keyOf(randomName()))
        if (limiter.takeCalls === undefined || answers.at(-1) === 0) return undefined
        const key = keyOf(randomName())
        const most = answers.length - 1
        await limiter.take(key, 1)
        const names = Array.from({ length: most + 1 }, () => randomName())
        return (await limiter.takeCalls(key, calling(names))) === 0
          ? `it admits ${most} requests one by one, and ${most + 1} calls in one batch`
          : undefined
      },
    },
  ],
}
