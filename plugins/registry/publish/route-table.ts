import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { z } from 'zod'
import { registryParams, serverParams, versionParams } from '../queries.js'
import { type ApiVersion, type RouteSchema, routeFor } from '../route.js'
import { serverDocument, serverResponse } from '../server-document.js'
import { changedVersions, problemBody, purgedVersions, statusBody, validationBody } from './bodies.js'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

type Name = 'publish' | 'validate' | 'setStatus' | 'setStatusOfAll' | 'remove' | 'purge'

interface Declared {
  readonly method: 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly summary: string
  readonly params: z.ZodType
  readonly requestBody?: z.ZodType
  readonly response: RouteSchema['response']
  readonly errors?: RouteSchema['errors']
  readonly public?: true
}

const WRITE_ERRORS = {
  400: 'the body is not JSON, or a parameter is wrong',
  403: 'this caller may not do this',
  404: 'this registry takes no publications, or has no such version',
  409: 'it is there already, another source of the registry has the name, or there is no room for it',
  413: 'the body is too large',
  429: 'this caller has published too often',
  503: 'the registry is not loaded, or its store is away; or it is stored and not served here yet',
}

const version = '/servers/:serverName/versions/:version'

const TABLE: Readonly<Record<Name, Declared>> = {
  publish: {
    method: 'POST',
    path: '/publish',
    summary: 'Publish a version of a server',
    params: registryParams,
    requestBody: serverDocument,
    response: { 200: serverResponse, 422: problemBody },
  },
  validate: {
    method: 'POST',
    path: '/validate',
    summary: 'Check whether a document would be taken',
    params: registryParams,
    requestBody: serverDocument,
    response: { 200: validationBody },
    errors: {
      400: 'the body is not JSON',
      413: 'the body is too large',
      429: 'too many requests from this address',
    },
    public: true,
  },
  setStatus: {
    method: 'PATCH',
    path: `${version}/status`,
    summary: 'Change the status of a version',
    params: versionParams,
    requestBody: statusBody,
    response: { 200: serverResponse, 422: problemBody },
  },
  setStatusOfAll: {
    method: 'PATCH',
    path: '/servers/:serverName/status',
    summary: 'Change the status of all versions of a server',
    params: serverParams,
    requestBody: statusBody,
    response: { 200: changedVersions, 422: problemBody },
  },
  remove: {
    method: 'DELETE',
    path: version,
    summary: 'Delete a version: its status becomes `deleted`',
    params: versionParams,
    response: { 200: serverResponse },
  },
  purge: {
    method: 'POST',
    path: '/servers/:serverName/purge',
    summary: 'Remove the documents of all deleted versions of a server for ever',
    params: serverParams,
    response: { 200: purgedVersions },
    errors: { ...WRITE_ERRORS, 501: 'the store of this registry cannot purge' },
  },
}

/** The routes that change a registry, below one version of the API. */
export const publishRoutes = (
  version: ApiVersion,
  handlers: Readonly<Record<Name, Handler>>,
  onSend: RouteOptions['onSend'],
): RouteOptions[] =>
  Object.entries(TABLE).map(([name, { method, path, public: isPublic, summary, ...schema }]) =>
    routeFor({
      method,
      url: `/registry/:registry/${version}${path}`,
      ...(isPublic === true && { config: { public: true } }),
      onSend,
      schema: {
        ...(version === 'v0.1' && { summary }),
        tags: ['publish'],
        errors: WRITE_ERRORS,
        ...schema,
      },
      handler: (request, reply) => handlers[name as Name](request, reply),
    }),
  )
