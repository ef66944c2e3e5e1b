import type { FastifyRequest } from 'fastify'
import { many } from '../capability.js'

/** Header names in lower case with their values, in the order they are to be sent. */
export type OutgoingHeaders = readonly (readonly [name: string, value: string])[]

/** Adds headers to a request to the target. The caller's own headers of these `names` are removed first. */
export interface HeaderSource {
  readonly names: readonly string[]
  /** Whether the values are credentials: the gateway sends these over no network in plain text. */
  readonly secret?: boolean
  headers(request: FastifyRequest): OutgoingHeaders
}

export const HeaderSource = many<HeaderSource>('header source')
