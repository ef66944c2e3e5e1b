import type { FastifyRequest } from 'fastify'
import { AccessSink, type EndedRequest } from '../contract/capabilities/access-sink.js'
import {
  type CheckResult,
  type ConformanceContext,
  type ConformanceSuite,
  firstFault,
} from './requirement.js'
import { answeredBy, thrownBy } from './synchronous.js'

const endsOf = (request: FastifyRequest): readonly EndedRequest[] => {
  const ended = { request, status: 200, durationMs: 1.5, bytes: 10, aborted: false, refused: false }
  return [
    ended,
    { ...ended, status: 401, refused: true },
    { ...ended, status: 499, bytes: 0, aborted: true },
    { ...ended, status: 502 },
  ]
}

/** With requests of nobody and of somebody. */
async function firstOf(
  context: ConformanceContext,
  check: (ended: EndedRequest) => CheckResult,
): Promise<CheckResult> {
  const faults: CheckResult[] = []
  const look = async (request: FastifyRequest): Promise<void> =>
    void faults.push(await firstFault(endsOf(request), check))
  await context.anonymousRequests(look)
  await context.authenticatedRequest(look)
  return faults.find((fault) => fault !== undefined)
}

export const accessSinkConformance: ConformanceSuite<AccessSink> = {
  capability: AccessSink,
  requirements: [
    {
      code: 'ACCESS_FROM',
      statement: 'says from which status on it wants requests',
      advice: 'let `from` be 400 for those that were refused or failed, or 0 for every one',
      check: ({ from }) => ([0, 400].includes(from) ? undefined : `\`from\` is ${String(from)}`),
    },
    {
      code: 'ACCESS_THROWS',
      statement: 'takes every request that has ended',
      advice: 'catch what your own writing throws; a request may have no identity and no route',
      check: (sink, context) => firstOf(context, (ended) => thrownBy(() => sink.ended(ended))),
    },
    {
      code: 'ACCESS_ANSWERS',
      statement: 'keeps nobody waiting',
      advice:
        'queue what takes time and return at once: a promise is not awaited, and nobody catches its failure',
      check: (sink, context) => firstOf(context, (ended) => answeredBy(() => sink.ended(ended))),
    },
  ],
}
