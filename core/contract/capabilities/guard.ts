import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'

/**
 * Checks a request before authentication, on every route, public ones too. It returns to admit the request and throws a
 * `Refusal` to refuse it. Any other error, and a promise that does not settle in time, refuses it as well.
 */
export type Guard = (request: FastifyRequest) => void | Promise<void>

export const Guard = many<Guard>('guard')
