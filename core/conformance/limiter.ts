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

/** What it answers to one request after the other, until it refuses one. */
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
  return `it answers ${isJsonObject(answer) ? JSON.stringify(answer) : String(answer)}`
}

export const limiterConformance: ConformanceSuite<Limiter> = {
  capability: Limiter,
  requirements: [
    {
      code: 'LIMIT_MALFORMED',
      statement: 'answers with 0, or with the limit that is reached, whoever asks',
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
      statement: 'counts each caller at each address alone',
      advice: 'count by the whole text of `caller` and `address`, and by nothing that others have too',
      awaits: 10,
      async check(limiter) {
        const name = randomName()
        await untilRefused(limiter, keyOf(name))
        return (await limiter.take(keyOf(`${name}.`), 1)) === 0
          ? undefined
          : 'it refuses one for what another did'
      },
    },
    {
      code: 'LIMIT_COST',
      statement: 'never lets in what costs more than all that it would let in at once',
      advice: 'count `cost`, and not requests; return Infinity for what could never go on',
      awaits: 10,
      async check(limiter) {
        const answers = await untilRefused(limiter, keyOf(randomName()))
        if (answers.at(-1) === 0) return undefined
        const most = answers.length - 1
        return (await limiter.take(keyOf(randomName()), most + 1)) === 0
          ? `it lets in ${most} one by one, and ${most + 1} at once`
          : undefined
      },
    },
    {
      code: 'LIMIT_CALLS_MALFORMED',
      statement: 'answers with 0, or with the limit that is reached, whatever is called',
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
      advice: 'in `takeCalls` count one less than there are calls, by what `take` counts by',
      awaits: 10,
      async check(limiter) {
        const answers = await untilRefused(limiter, keyOf(randomName()))
        if (limiter.takeCalls === undefined || answers.at(-1) === 0) return undefined
        const key = keyOf(randomName())
        const most = answers.length - 1
        await limiter.take(key, 1)
        const names = Array.from({ length: most + 1 }, () => randomName())
        return (await limiter.takeCalls(key, calling(names))) === 0
          ? `it lets in ${most} one by one, and ${most + 1} in one batch`
          : undefined
      },
    },
  ],
}
