import { HeaderSource } from '../contract/capabilities/header-source.js'
import { headerName, isHeaderValue } from '../toolkit/header.js'
import {
  type CheckResult,
  type ConformanceContext,
  type ConformanceSuite,
  leavesRequestUnchanged,
  messageOf,
} from './requirement.js'

export const headerSourceConformance: ConformanceSuite<HeaderSource> = {
  capability: HeaderSource,
  requirements: [
    {
      code: 'HEADERS_THROW',
      statement: 'answers every request',
      advice: 'answer an empty list when there is nothing to add',
      check: (source, context) =>
        firstFaultyHeader(
          context,
          source,
          () => undefined,
          (error) => `it throws: ${messageOf(error)}`,
        ),
    },
    {
      code: 'HEADERS_UNDECLARED',
      statement: 'adds only headers that it names',
      advice: 'list every header in `names`, in lower case: the copies of the caller are removed by it',
      async check(source, context) {
        const mixed = source.names.filter((name) => name !== name.toLowerCase())
        if (mixed.length > 0) return `not in lower case: ${mixed.join(', ')}`
        return firstFaultyHeader(context, source, ([name]) =>
          source.names.includes(String(name)) ? undefined : `not in its names: ${name}`,
        )
      },
    },
    {
      code: 'HEADERS_MALFORMED',
      statement: 'adds what can be sent',
      advice: 'give pairs of a name and a value, without control characters, and none that frames a message',
      async check(source, context) {
        const bad = source.names.find((name) => !headerName().safeParse(name).success)
        if (bad !== undefined) return `a gateway never sends "${bad}" for anybody`
        return firstFaultyHeader(context, source, ([, value]) =>
          typeof value === 'string' && isHeaderValue(value)
            ? undefined
            : 'a value cannot be sent in a header',
        )
      },
    },
    leavesRequestUnchanged((source, request) => source.headers(request)),
  ],
}

async function firstFaultyHeader(
  context: ConformanceContext,
  source: HeaderSource,
  check: (header: readonly unknown[]) => string | undefined,
  thrown: (error: unknown) => string | undefined = () => undefined,
): Promise<CheckResult> {
  let fault: CheckResult
  await context.anonymousRequests((request) => {
    try {
      const answer: unknown = source.headers(request)
      if (!Array.isArray(answer)) fault ??= thrown(new Error('its answer is no list'))
      else
        for (const header of answer) fault ??= Array.isArray(header) ? check(header) : 'a header is no pair'
    } catch (error) {
      fault ??= thrown(error)
    }
  })
  return fault
}
