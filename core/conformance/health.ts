import { Health } from '../contract/capabilities/health.js'
import { type ConformanceSuite, hasName, isObject } from './requirement.js'
import { thrownBy } from './synchronous.js'

const STATES = ['ok', 'degraded', 'down']

export const healthConformance: ConformanceSuite<Health> = {
  capability: Health,
  requirements: [
    hasName('HEALTH_UNNAMED'),
    {
      code: 'HEALTH_THROWS',
      statement: 'always answers',
      advice: "answer { status: 'down', reason } instead",
      check: (health) => thrownBy(() => health.check()),
    },
    {
      code: 'HEALTH_MALFORMED',
      statement: 'says at once how it is, and a reason when it is not well',
      advice:
        "answer { status: 'ok' }, or 'degraded' or 'down' with a reason; it asks nobody, so it never waits",
      check(health) {
        let state: unknown
        if (thrownBy(() => (state = health.check())) !== undefined) return undefined
        if (!isObject(state) || !STATES.includes(String(state['status'])))
          return `its status is none of ${STATES.join(', ')}`
        return state['status'] === 'ok' || typeof state['reason'] === 'string'
          ? undefined
          : 'it gives no reason'
      },
    },
  ],
}
