import { duration, secretText } from 'sallyport/toolkit'
import { z } from 'zod'
import { checkRedisOptions, type RedisOptions, redisFields } from '#plugins/store/redis/address.js'

const PREFIX = 'sallyport:'
const MAX_COUNT = 1_000_000_000
// A timer of Node can still wait for a burst, whose span is ten times as long.
export const BURST_SPANS = 10
const LONGEST_SPAN = 24 * 3_600_000

const EXPECTED_RATE =
  'expected a rate such as 100/1m: a number of requests from 1, and a span of whole seconds, at most 24h'

const span = duration(LONGEST_SPAN)

const rate = z.string(EXPECTED_RATE).transform((written, context) => {
  const [, count = '', text = ''] = /^([1-9]\d*)\/(.+)$/.exec(written) ?? []
  const { data: milliseconds = 0 } = span.safeParse(text)
  if (Number(count) <= MAX_COUNT && count !== '' && milliseconds > 0 && milliseconds % 1000 === 0)
    return { count: Number(count), seconds: milliseconds / 1000 }
  context.issues.push({ code: 'custom', input: written, message: EXPECTED_RATE })
  return z.NEVER
})

const BY_TOOL: ReadonlySet<string> = new Set(['tool', 'caller+tool'])

const limit = z
  .strictObject({
    by: z
      .enum(['caller', 'address', 'tool', 'caller+tool'], 'expected caller, address, tool or caller+tool')
      .describe(
        '`caller`: provider and subject, in anonymous mode the address; `address`: the address of the client; `tool`: each tool, for all callers together; `caller+tool`: each tool, for each caller',
      ),
    rate: rate.describe('requests or calls and their span, such as `100/1m`'),
    burst: z.int().min(1).max(MAX_COUNT).optional().describe('how many more are allowed, once in ten spans'),
    tools: z
      .array(
        z
          .string()
          .min(1, 'expected the name of a tool, or a pattern such as search_*')
          // Policies have these prefixes. Here they would be part of the name, and the limit would match no tool.
          .regex(/^(?!(?:tool|prompt|resource):)/, 'expected the name of a tool alone, without a prefix'),
      )
      .min(1, 'expected a name or pattern, or no `tools` for all of them')
      .optional()
      .describe('the tools that it counts, `*` for any run of characters: `search_*`; by default all'),
  })
  .superRefine(({ by, tools }, context) => {
    if (tools === undefined || BY_TOOL.has(by)) return
    const message = `a limit by ${by} counts every request: expected \`by: tool\` or \`by: caller+tool\` with \`tools\``
    context.addIssue({ code: 'custom', path: ['tools'], message })
  })

export type Limit = z.output<typeof limit>

export const limitOptions = z.strictObject({
  limits: z
    .array(limit)
    .min(1)
    .superRefine((limits, context) => {
      const seen = new Set<string>()
      for (const [
        index,
        {
          by,
          rate: { seconds },
          tools,
        },
      ] of limits.entries()) {
        const kind = JSON.stringify([by, seconds, tools])
        if (seen.has(kind)) {
          const message = 'an earlier limit has the same `by`, span and tools: remove one of them'
          context.addIssue({ code: 'custom', path: [index], message })
        }
        seen.add(kind)
      }
    })
    .describe(
      'each request has to be within all of them: `by` (`caller`, `address`, `tool` or `caller+tool`), `rate` (`100/1m`), `burst`: how many more are allowed, once in ten spans, and `tools`: patterns of the tools that a limit by tool counts',
    ),
  redis: z
    .union(
      [
        secretText().transform((url): RedisOptions & { prefix: string } => ({ url, prefix: PREFIX })),
        z.strictObject({
          ...redisFields,
          prefix: z.string().default(PREFIX).describe('the prefix of all keys in Redis'),
        }),
      ],
      { error: 'expected the URL of a Redis, or `url` or `urlFile`, with `caCertPath` and `prefix`' },
    )
    .superRefine(checkRedisOptions)
    .optional()
    .describe(
      'counts for all replicas in this Redis: its URL, or `url`, `urlFile`, `caCertPath` and `prefix` (default `sallyport:`); without it each process counts by itself',
    ),
})
