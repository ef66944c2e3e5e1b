import type { FastifyRequest } from 'fastify'
import { BrowserSession } from '../contract/capabilities/browser-session.js'
import {
  type CheckResult,
  type ConformanceSuite,
  firstFault,
  firstFaultyRequest,
  leavesRequestUnchanged,
  messageOf,
} from './requirement.js'

/** Return addresses as a stranger would make them up. */
const RETURNS = ['/a?b=c', 'https://evil.invalid/', '//evil.invalid', '/\\evil.invalid', '/\r\nx: y', '']

const isOwnPath = (path: unknown): boolean =>
  typeof path === 'string' && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path)

const tokenOf = async (session: BrowserSession, request: FastifyRequest): Promise<CheckResult> => {
  try {
    const token: unknown = await session.token(request)
    return token === undefined ? undefined : 'it has a token for a request of nobody'
  } catch (error) {
    return `it throws: ${messageOf(error)}`
  }
}

export const browserSessionConformance: ConformanceSuite<BrowserSession> = {
  capability: BrowserSession,
  requirements: [
    {
      code: 'SESSION_MADE_UP',
      statement: 'has no token for a request without a session',
      advice:
        'answer undefined unless what the request brings was made here: it is seen by a signature or a seal',
      check: (session, context) => firstFaultyRequest(context, (request) => tokenOf(session, request)),
    },
    {
      code: 'PERSON_MADE_UP',
      statement: 'names nobody for a request without a session',
      advice: 'answer undefined unless `token` found a session of that request',
      check: (session, context) =>
        firstFaultyRequest(context, (request) =>
          session.person(request) === undefined ? undefined : 'it names somebody for a request of nobody',
        ),
    },
    {
      code: 'SIGN_IN_PATH_MALFORMED',
      statement: 'has paths of this gateway to sign in and out',
      advice: 'begin them with one slash, and encode the return address',
      check: (session) =>
        firstFault(
          [...RETURNS.map((each) => session.signInPath(each)), session.signOutPath],
          (path): CheckResult =>
            isOwnPath(path) ? undefined : `${JSON.stringify(path)} is no path of this gateway`,
        ),
    },
    leavesRequestUnchanged((session, request) => session.token(request)),
  ],
}
