import type { FastifyRequest } from 'fastify'
import type { Guard } from '../contract/capabilities/guard.js'
import { GatewayError, Refusal } from '../contract/errors.js'
import { isPromise, within } from '../toolkit/deadline.js'

const plugins = new WeakMap<Guard, string>()

/** From now on faults of a guard are told as those of its plugin, and not as an outage of an identity provider. */
export const nameGuard = (guard: Guard, plugin: string): unknown => plugins.set(guard, plugin)

/** Asks a guard, and waits for it where it has to. What it throws on purpose stays as it is; anything else is a fault. */
export function askGuard(
  guard: Guard,
  request: FastifyRequest,
  /** Milliseconds that it may take. */
  deadline: number,
): Promise<unknown> | undefined {
  try {
    const answer: unknown = guard(request)
    if (!isPromise(answer)) return undefined
    const late = (): Error => new Error(`a guard did not answer within ${deadline / 1000} s`)
    return within(deadline, answer, late).catch((error: unknown) => {
      throw failureOf(guard, error)
    })
  } catch (error) {
    throw failureOf(guard, error)
  }
}

function failureOf(guard: Guard, cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause
  const reasons = [{ provider: plugins.get(guard) ?? 'guard', cause: 'plugin_failed' }]
  const message = 'a plugin failed while it checked this request'
  return new Refusal(503, 'PLUGIN_FAILED', message, { cause, retryAfter: 5, reasons })
}
