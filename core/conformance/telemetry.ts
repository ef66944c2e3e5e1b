import { type Instrument, Telemetry } from '../contract/capabilities/telemetry.js'
import { type ConformanceSuite, firstFault } from './requirement.js'
import { answeredBy, thrownBy } from './synchronous.js'

const instrument = (kind: Instrument['kind'], labels: readonly string[]): Instrument => ({
  kind,
  name: `conformance_${kind}_total`,
  help: 'Something that is counted.',
  labels,
})
const MEASURED: readonly Parameters<Telemetry['measure']>[] = [
  [instrument('counter', ['outcome']), 1, { outcome: 'ok' }],
  [instrument('counter', ['outcome']), 2, { outcome: 'a "quoted"\n line' }],
  [instrument('gauge', []), -1.5, {}],
  [instrument('histogram', ['route']), 0.2, { route: '/x' }],
  [instrument('histogram', ['route']), 0, { route: '/y' }],
  [instrument('histogram', ['route']), 7, { route: '/y' }, '4bf92f3577b34da6a3ce929d0e0e4736'],
]

export const telemetryConformance: ConformanceSuite<Telemetry> = {
  capability: Telemetry,
  requirements: [
    {
      code: 'TELEMETRY_THROWS',
      statement: 'takes every measurement, the same instrument again and again',
      advice: 'make an instrument when it is first seen, and catch what your own sending throws',
      check: (telemetry) => firstFault(MEASURED, (each) => thrownBy(() => telemetry.measure(...each))),
    },
    {
      code: 'TELEMETRY_ANSWERS',
      statement: 'keeps nobody waiting',
      advice: 'collect, and send from a timer that `onStop` ends: this runs for every request',
      check: (telemetry) => firstFault(MEASURED, (each) => answeredBy(() => telemetry.measure(...each))),
    },
  ],
}
