import type { FastifyRequest } from 'fastify'
import type { Guard } from '../contract/capabilities/guard.js'
import { GatewayError, Refusal } from '../contract/errors.js'
import { isPromise, within } from '../toolkit/deadline.js'

/** The plugins of guards: faults of these are told by them, and not as an outage of an identity provider. */
export type GuardPlugins = Pick<WeakMap<Guard, string>, 'get'>

/** Asks a guard, and waits for it where it has to. What it throws on purpose stays as it is; anything else is a fault. */
export function askGuard(
  guard: Guard,
  request: FastifyRequest,
  /** Milliseconds that it may take. */
  deadline: number,
  plugins: GuardPlugins,
): Promise<unknown> | undefined {
  try {
    const answer: unknown = guard(request)
    if (!isPromise(answer)) return undefined
    const late = (): Error => new Error(`a guard did not answer within ${deadline / 1000} s`)
    return within(deadline, answer, late).catch((error: unknown) => {
      throw failureOf(plugins.get(guard), error)
    })
  } catch (error) {
    throw failureOf(plugins.get(guard), error)
  }
}

function failureOf(plugin = 'guard', cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause
  const reasons = [{ provider: plugin, cause: 'plugin_failed' }]
  const message = 'a plugin failed while it checked this request'
  return new Refusal(503, 'PLUGIN_FAILED', message, { cause, retryAfter: 5, reasons })
}
