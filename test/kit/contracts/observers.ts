import { type AuditEvent, AuditSink, Health, type Instrument, Telemetry } from 'sallyport'
import { type Contract, firstFault, isObject, messageOf } from './contract.js'

const event: AuditEvent = {
  kind: 'refused',
  at: '2030-01-01T00:00:00.000Z',
  requestId: 'bench-1',
  method: 'GET',
  route: '/bench',
}
const EVENTS: readonly AuditEvent[] = [
  event,
  { ...event, status: 401, provider: 'corp', causes: ['signature'] },
  { ...event, kind: 'accepted', provider: 'corp', subject: 'ä\n"' },
]

export const auditSinkContract: Contract<AuditSink> = {
  capability: AuditSink,
  clauses: [
    {
      code: 'SINK_THROWS',
      asks: 'takes every event',
      advice: 'catch what your own writing throws',
      look: (sink) => firstFault(EVENTS, (each) => thrownBy(() => sink({ ...each }))),
    },
    {
      code: 'SINK_ANSWERS',
      asks: 'keeps nobody waiting',
      advice:
        'queue what takes time and return at once: a promise is not awaited, and its failure has no owner',
      look: (sink) => firstFault(EVENTS, (each) => answerOf(() => sink({ ...each }))),
    },
    {
      code: 'EVENT_CHANGED',
      asks: 'leaves the event as it is',
      advice: 'take a copy: the next sink gets this very event',
      look: (sink) =>
        firstFault(EVENTS, (each) => {
          const given = { ...each }
          thrownBy(() => sink(given))
          return JSON.stringify(given) === JSON.stringify(each) ? undefined : 'it changes the event'
        }),
    },
  ],
}

const instrument = (kind: Instrument['kind'], labels: readonly string[]): Instrument => ({
  kind,
  name: `bench_${kind}_total`,
  help: 'Something that is counted.',
  labels,
})
const MEASURED: readonly Parameters<Telemetry['measure']>[] = [
  [instrument('counter', ['outcome']), 1, { outcome: 'ok' }],
  [instrument('counter', ['outcome']), 2, { outcome: 'a "quoted"\n line' }],
  [instrument('gauge', []), -1.5, {}],
  [instrument('histogram', ['route']), 0.2, { route: '/x' }],
  [instrument('histogram', ['route']), 0, { route: '/y' }],
]

export const telemetryContract: Contract<Telemetry> = {
  capability: Telemetry,
  clauses: [
    {
      code: 'TELEMETRY_THROWS',
      asks: 'takes every measurement, the same instrument again and again',
      advice: 'make an instrument when it is first seen, and catch what your own sending throws',
      look: (telemetry) => firstFault(MEASURED, (each) => thrownBy(() => telemetry.measure(...each))),
    },
    {
      code: 'TELEMETRY_ANSWERS',
      asks: 'keeps nobody waiting',
      advice: 'collect, and send from a timer that `onStop` ends: this runs for every request',
      look: (telemetry) => firstFault(MEASURED, (each) => answerOf(() => telemetry.measure(...each))),
    },
  ],
}

const STATES = ['ok', 'degraded', 'down']

export const healthContract: Contract<Health> = {
  capability: Health,
  clauses: [
    {
      code: 'HEALTH_THROWS',
      asks: 'always answers',
      advice: "answer { status: 'down', reason } instead",
      look: (health) => thrownBy(() => health.check()),
    },
    {
      code: 'HEALTH_MALFORMED',
      asks: 'says at once how it is, and a reason when it is not well',
      advice:
        "answer { status: 'ok' }, or 'degraded' or 'down' with a reason; it asks nobody, so it never waits",
      look(health) {
        let state: unknown
        thrownBy(() => {
          state = health.check()
        })
        if (state === undefined) return undefined
        if (typeof health.name !== 'string' || health.name === '') return 'it has no name'
        if (!isObject(state) || !STATES.includes(String(state['status'])))
          return `its answer is none of ${STATES.join(', ')}`
        return state['status'] === 'ok' || typeof state['reason'] === 'string'
          ? undefined
          : 'it gives no reason'
      },
    },
  ],
}

function thrownBy(ask: () => unknown): string | undefined {
  try {
    const answer = ask()
    // Another clause speaks of the promise; nobody is to be told of its failure twice.
    if (answer instanceof Promise) answer.catch(() => {})
    return undefined
  } catch (error) {
    return `it throws: ${messageOf(error)}`
  }
}

function answerOf(ask: () => unknown): string | undefined {
  let answer: unknown
  const thrown = thrownBy(() => {
    answer = ask()
    return answer
  })
  return thrown !== undefined || answer === undefined ? undefined : 'it answers something, perhaps a promise'
}
