import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { PublicationState, ServerCatalogue } from 'sallyport'
import { networkOf } from 'sallyport/toolkit'
import type { z } from 'zod'
import { listOf } from '#plugins/store/bytes.js'
import { registryParams, serverParams, versionParams } from '../queries.js'
import { type ApiVersion, type RouteSchema, routeFor } from '../route.js'
import { serverDocument, serverResponse } from '../server-document.js'
import {
  changedVersions,
  type InvalidBodies,
  issuesOf,
  jsonIn,
  notJson,
  problemBody,
  purgedVersions,
  statusBody,
  validationBody,
} from './bodies.js'
import { loginRoutes } from './login.js'
import type { PublishRate } from './publish-rate.js'
import type { Publishers } from './publishers.js'
import { jsonForm } from './validation/json-form.js'
import { validateServer, validationOf } from './validation/validate-server.js'
import type { ChangedVersions, PublicationWriter } from './writer.js'

// The default for a catalogue that reports none.
const MOST_BYTES = 256 * 1024

interface Parts {
  readonly writer: PublicationWriter
  readonly publishers: Publishers
  readonly invalid: InvalidBodies
  readonly catalogue: () => ServerCatalogue
  /** The rate of requests that need no token. */
  readonly openRate: PublishRate
}

/** The routes that change a registry. */
export class PublishRoutes {
  constructor(private readonly parts: Parts) {}

  routes(version: ApiVersion): RouteOptions[] {
    const { invalid, openRate } = this.parts
    return [...publishRoutes(version, this, invalid.onSend), ...loginRoutes(version, openRate)]
  }

  async validate(request: FastifyRequest, reply: FastifyReply) {
    this.parts.openRate.take(networkOf(request.clientAddress))
    const body = await this.bodyOf(request)
    const { isJson, valid, issues } = validateServer(body)
    if (!isJson) throw notJson(issues[0]?.message)
    reply.header('cache-control', 'no-store')
    return { valid, issues }
  }

  async publish(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { writer, publishers, invalid } = this.parts
    const write = await writer.begin(request)
    const server = await this.bodyOf(request)
    publishers.check('publish', undefined, write.caller)
    const { isJson, valid, name, version, issues } = validateServer(server)
    if (!isJson) throw notJson(issues[0]?.message)
    if (name !== undefined) publishers.check('publish', name, write.caller)
    if (!valid || name === undefined || version === undefined) return invalid.refuse(request, issues)
    return sendJson(reply, (await writer.publish(write, { name, version, server })).json)
  }

  async setStatus(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { writer, publishers } = this.parts
    const write = await writer.begin(request)
    const { serverName: name, version } = request.params as z.output<typeof versionParams>
    const body = await this.bodyOf(request)
    publishers.check('edit', name, write.caller)
    const state = this.stateIn(request, body)
    return sendJson(reply, (await writer.setStatusOfVersion(write, { name, version }, state)).json)
  }

  async setStatusOfAll(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { writer, publishers } = this.parts
    const write = await writer.begin(request)
    const { serverName: name } = request.params as z.output<typeof serverParams>
    const body = await this.bodyOf(request)
    publishers.check('edit', name, write.caller)
    const changed = await writer.setStatusOfServer(write, name, this.stateIn(request, body))
    return sendJson(reply, changedJson(changed))
  }

  async remove(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { writer, publishers } = this.parts
    const write = await writer.begin(request)
    const { serverName: name, version } = request.params as z.output<typeof versionParams>
    publishers.check('edit', name, write.caller)
    const state = { status: 'deleted' } as const
    return sendJson(reply, (await writer.setStatusOfVersion(write, { name, version }, state)).json)
  }

  async purge(request: FastifyRequest, reply: FastifyReply) {
    const { writer, publishers } = this.parts
    const write = await writer.begin(request)
    const { serverName: name } = request.params as z.output<typeof serverParams>
    publishers.check('purge', name, write.caller)
    const { versions, bytes } = await writer.purge(write, name)
    reply.header('cache-control', 'no-store')
    return { purgedCount: versions.length, purgedBytes: bytes }
  }

  private bodyOf(request: FastifyRequest): Promise<Buffer> {
    return request.wholeBody(this.parts.catalogue().maxDocumentBytes ?? MOST_BYTES)
  }

  private stateIn(request: FastifyRequest, body: Buffer): PublicationState {
    const value = jsonIn(body)
    const form = validationOf({ ...jsonForm(body.toString()), isJson: true })
    if (!form.valid) return this.parts.invalid.refuse(request, form.issues)
    const read = statusBody.safeParse(value)
    if (!read.success) return this.parts.invalid.refuse(request, issuesOf(read.error, 'status-change'))
    const { status, statusMessage } = read.data
    return { status, ...(statusMessage !== undefined && { statusMessage }) }
  }
}

function changedJson({ count, newest }: ChangedVersions): Buffer {
  const head = Buffer.from(`{"updatedCount":${count},"servers":`)
  return Buffer.concat([head, listOf(newest.map(({ json }) => json)), Buffer.from('}')])
}

const sendJson = (reply: FastifyReply, json: Uint8Array): FastifyReply =>
  reply
    .header('cache-control', 'no-store')
    .header('content-type', 'application/json; charset=utf-8')
    .send(json)

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
    summary: 'Check whether a document would be accepted',
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
const publishRoutes = (
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
