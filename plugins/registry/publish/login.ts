import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { Refusal } from 'sallyport'
import { bearerCredentials, networkOf } from 'sallyport/toolkit'
import { registryParams } from '../queries.js'
import { type ApiVersion, routeFor } from '../route.js'
import { jsonIn, loginAnswer, loginBody } from './bodies.js'
import type { PublishRate } from './publish-rate.js'

const MAX_BYTES = 64 * 1024

// Seconds, for a token that does not say when it expires.
const LIFETIME = 300

/**
 * The logins of the official registry's clients. The gateway issues and stores nothing: it checks the token like that
 * of any other request, and returns it.
 */
export const loginRoutes = (version: ApiVersion, rate: PublishRate): RouteOptions[] => [
  ...['github-oidc', 'oidc'].map((method) =>
    routeFor({
      method: 'POST',
      url: `/registry/:registry/${version}/auth/${method}`,
      config: { public: true },
      schema: {
        ...(version === 'v0.1' && {
          summary: 'Log in: the token is checked, and handed back as the one to send',
        }),
        tags: ['login'],
        params: registryParams,
        requestBody: loginBody,
        response: { 200: loginAnswer },
        errors: {
          400: 'the body is not as described',
          401: 'the token was not accepted',
          403: 'the token lacks a scope that is needed here',
          413: 'the body is too large',
          429: 'too many requests from this address',
          503: 'tokens cannot be checked right now',
        },
      },
      handler: (request, reply) => {
        rate.take(networkOf(request.clientAddress))
        return logIn(request, reply)
      },
    }),
  ),
  routeFor({
    method: 'POST',
    url: `/registry/:registry/${version}/auth/:method`,
    config: { public: true },
    schema: { tags: ['login'], response: {} },
    handler: async () => {
      const message =
        'there is no such login here: log in with github-oidc, with a token that the registry accepts'
      throw new Refusal(404, 'LOGIN_UNKNOWN', message)
    },
  }),
]

async function logIn(request: FastifyRequest, reply: FastifyReply) {
  const { data } = loginBody.safeParse(jsonIn(await request.wholeBody(MAX_BYTES)))
  if (data === undefined)
    throw new Refusal(400, 'LOGIN_MALFORMED', 'expected a JSON object with the text "oidc_token"')
  const { oidc_token: token } = data
  const { expiresAt } = await request.authenticate(bearerCredentials(token))
  reply.header('cache-control', 'no-store')
  return {
    registry_token: token,
    expires_at: Math.floor(expiresAt ?? Date.now() / 1000 + LIFETIME),
  }
}
