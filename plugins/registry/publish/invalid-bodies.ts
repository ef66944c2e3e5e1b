import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from 'sallyport'
import type { Issue } from './validation/validate-server.js'

/** Refuses bodies with all that is wrong with them: as a refusal for log and audit, as a problem (RFC 9457) for the caller. */
export class InvalidBodies {
  private readonly issues = new WeakMap<FastifyRequest, readonly Issue[]>()

  refuse(request: FastifyRequest, issues: readonly Issue[]): never {
    this.issues.set(request, issues)
    throw new Refusal(422, 'BODY_INVALID', 'the body is not valid')
  }

  /** A hook of the routes. */
  readonly onSend = (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    done: (error: null, payload: unknown) => void,
  ): void => {
    const issues = this.issues.get(request)
    if (issues === undefined) {
      done(null, payload)
      return
    }
    const errors = issues.filter(({ severity }) => severity === 'error').length
    const detail = `${errors} ${errors === 1 ? 'error has' : 'errors have'} to be corrected`
    reply.type('application/problem+json')
    done(null, JSON.stringify({ title: 'The body is not valid', status: 422, detail, issues }))
  }
}
