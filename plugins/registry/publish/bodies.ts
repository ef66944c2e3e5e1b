import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from 'sallyport'
import { z } from 'zod'
import { serverResponse } from '../server-document.js'
import type { Issue } from './validation/validate-server.js'

const issue = z
  .strictObject({
    type: z.string().describe('a class of issues'),
    path: z.string().describe('where, such as packages[0].transport.url; empty for the whole document'),
    message: z.string().describe('a sentence for people'),
    severity: z.enum(['error', 'warning']).describe('a document with errors is refused'),
    reference: z.string().describe('the rule'),
  })
  .meta({ id: 'Issue', description: 'something about a document' })

export const validationBody = z
  .strictObject({ valid: z.boolean(), issues: z.array(issue) })
  .meta({ id: 'Validation', description: 'whether a document would be accepted' })

/** RFC 9457. */
export const problemBody = z
  .strictObject({
    title: z.string(),
    status: z.literal(422),
    detail: z.string(),
    issues: z.array(issue).describe('all that is wrong with it'),
  })
  .meta({ id: 'Problem', description: 'why a body was refused' })

export const statusBody = z
  .strictObject({
    status: z.enum(['active', 'deprecated', 'deleted']).describe('the new status'),
    statusMessage: z
      .string()
      .max(500)
      .refine((text) => !/[\ud800-\udfff]/u.test(text), 'expected Unicode without lone surrogates')
      .refine(
        (text) => !/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(text),
        'expected one line, without control characters and without those that turn the direction of text',
      )
      .optional()
      .describe('why; not with the status active'),
  })
  .refine(({ status, statusMessage }) => status !== 'active' || statusMessage === undefined, {
    path: ['statusMessage'],
    message: 'an active version has no message',
  })
  .meta({ id: 'StatusChange', description: 'a status, and why' })

export const changedVersions = z
  .strictObject({
    updatedCount: z.int().min(0).describe('how many versions were changed'),
    servers: z.array(serverResponse).describe('the newest 100 of the versions that were changed'),
  })
  .meta({ id: 'ChangedVersions', description: 'the versions that were changed' })

export const purgedVersions = z
  .strictObject({
    purgedCount: z.int().min(0).describe('how many versions were purged'),
    purgedBytes: z.int().min(0).describe('how many bytes their documents had'),
  })
  .meta({ id: 'PurgedVersions', description: 'what a purge gave back' })

export const loginBody = z
  .object({ oidc_token: z.string().min(1).describe('a token of an issuer that this registry trusts') })
  .meta({ id: 'Login', description: 'a token' })

export const loginAnswer = z
  .strictObject({
    registry_token: z.string().describe('the same token'),
    expires_at: z.int().describe('when it expires, in seconds since the epoch'),
  })
  .meta({ id: 'LoginAnswer', description: 'the token to send' })

export const notJson = (message = 'expected a body of JSON in UTF-8'): Refusal =>
  new Refusal(400, 'BODY_NOT_JSON', message)

/** Refuses a body that is not JSON. */
export function jsonIn(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw notJson()
  }
}

/** The schema errors of a body, in the form of the issues of a document. */
export const issuesOf = ({ issues }: z.ZodError, reference: string): Issue[] =>
  issues.map(({ path, message }) => ({
    type: 'schema',
    path: path.join('.'),
    message,
    severity: 'error',
    reference,
  }))

/** Refuses bodies with a list of all issues: as a refusal for log and audit, as a problem (RFC 9457) for the caller. */
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
