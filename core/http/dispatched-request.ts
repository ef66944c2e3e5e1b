import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'

/** The raw request of `dispatch`: its class distinguishes it from a client's request. */
export class DispatchedRequest extends Readable {}

/** Whether a plugin sent the request, with `dispatch`: it has no client of its own, and no address. */
export const isDispatched = ({ raw }: FastifyRequest): boolean => raw instanceof DispatchedRequest
