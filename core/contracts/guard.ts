import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'

/**
 * Looks at a request before anybody asks who sent it, on every route, the public ones too. It returns to
 * let it pass and throws a `Refusal` to stop it. Whatever else it throws, and a promise that does not settle
 * in time, stops the request as well.
 */
export type Guard = (request: FastifyRequest) => void | Promise<void>

export const Guard = many<Guard>('guard')
