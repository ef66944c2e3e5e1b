import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { PublicationState, ServerCatalogue } from 'sallyport'
import { networkOf } from 'sallyport/toolkit'
import type { z } from 'zod'
import { bufferOver, withCommas } from '../bytes.js'
import type { serverParams, versionParams } from '../queries.js'
import type { ApiVersion } from '../route.js'
import { issuesOf, jsonIn, notJson, statusBody } from './bodies.js'
import type { InvalidBodies } from './invalid-bodies.js'
import { loginRoutes } from './login.js'
import type { PublishRate } from './publish-rate.js'
import type { Publishers } from './publishers.js'
import { publishRoutes } from './route-table.js'
import { jsonForm } from './validation/json-form.js'
import { validateServer, validationOf } from './validation/validate-server.js'
import type { ChangedVersions, PublicationWriter } from './writer.js'

// Of a catalogue that does not say.
const MOST_BYTES = 256 * 1024

interface Parts {
  readonly writer: PublicationWriter
  readonly publishers: Publishers
  readonly invalid: InvalidBodies
  readonly catalogue: () => ServerCatalogue
  /** Of what needs no token. */
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
  const head = Buffer.from(`{"updatedCount":${count},"servers":[`)
  return Buffer.concat([head, ...withCommas(newest), Buffer.from(']}')])
}

const sendJson = (reply: FastifyReply, json: Uint8Array): FastifyReply =>
  reply
    .header('cache-control', 'no-store')
    .header('content-type', 'application/json; charset=utf-8')
    .send(bufferOver(json))
