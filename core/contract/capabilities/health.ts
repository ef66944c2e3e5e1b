import { many } from '../capability.js'

/** `degraded` is shown and serves on; `down` takes the process out of the load balancer. */
export interface HealthState {
  readonly status: 'ok' | 'degraded' | 'down'
  readonly reason?: string
}

/** Tells how one part is. It answers from what it knows: it asks nobody. */
export interface Health {
  readonly name: string
  check(): HealthState
}

export const Health = many<Health>('health', { shared: true })
