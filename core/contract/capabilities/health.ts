import { many } from '../capability.js'

/** `degraded` is only shown; `down` takes the process out of the load balancer. */
export interface HealthState {
  readonly status: 'ok' | 'degraded' | 'down'
  readonly reason?: string
}

/** The state of one part, for `/readiness`. It reports what is known, without any request. */
export interface Health {
  readonly name: string
  check(): HealthState
}

export const Health = many<Health>('health', { shared: true })
